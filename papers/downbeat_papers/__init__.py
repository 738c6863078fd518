"""The figures of the papers, measured again at the size at hand and set beside what the papers report."""
