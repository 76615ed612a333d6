"""Requests to a driver from outside."""
