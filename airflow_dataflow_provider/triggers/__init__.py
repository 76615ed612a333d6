"""What waits in the triggerer. Import the modules: this package brings nothing by itself."""
