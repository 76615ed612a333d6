"""Sensors on watermarks. Import from the modules; this package exports nothing."""
