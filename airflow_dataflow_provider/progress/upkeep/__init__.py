"""Rows that were set aside, housekeeping, and verification."""
