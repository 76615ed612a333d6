"""Connections, and drivers as processes. Import the modules: this package brings nothing by itself."""
