"""Connections, and drivers as processes. Import from the modules; this package exports nothing."""
