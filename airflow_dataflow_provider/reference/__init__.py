"""The executable specification, which processes one element at a time. Every engine is compared with it."""
