"""Frames and tables: for a terminal, for other programs, for reports and pictures."""
