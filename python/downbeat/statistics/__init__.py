"""Statistics of samples and launches: a file per method or group of related methods, with its source."""
