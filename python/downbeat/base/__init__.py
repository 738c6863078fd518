"""What all rooms rest on: files, locks, text, streams."""
