"""Streams as tables: reading what was published."""
