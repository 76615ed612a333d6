"""What a pipeline says of itself: status, watermark answers, skew."""
