"""The watermark, estimated."""
