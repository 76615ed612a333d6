"""Sensors on watermarks. Import the modules: this package brings nothing by itself."""
