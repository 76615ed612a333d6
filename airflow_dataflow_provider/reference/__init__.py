"""The executable specification: one element at a time, slow and obvious. What every engine is compared with."""
