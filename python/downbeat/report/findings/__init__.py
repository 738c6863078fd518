"""Findings in sentences with numbers, a file for each question."""
