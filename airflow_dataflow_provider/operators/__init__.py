"""Operators that run, ensure and stop drivers. Import from the modules; this package exports nothing."""
