"""Files, locks, text and streams, for all rooms."""
