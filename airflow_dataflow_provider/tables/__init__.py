"""Readers of published results, as tables."""
