"""Builds the site from the Markdown below ``docs/``: ``make docs``."""
