"""Values: their types, their bytes and their hash."""
