"""Statistics of samples and launches; a file for each, which names its source."""
