"""Statistics of samples and launches; a file for each method or few that belong together, which names its source."""
