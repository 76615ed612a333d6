"""Operators that run, ensure and stop drivers. Import the modules: this package brings nothing by itself."""
