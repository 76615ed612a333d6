"""Sources: listing them, sharing their splits out among tasks, reading files to frames."""
