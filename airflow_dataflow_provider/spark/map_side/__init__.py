"""The map side: splits in, packed partial accumulators out."""
