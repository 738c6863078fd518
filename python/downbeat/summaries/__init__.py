"""Summaries of an experiment's cells for pictures and the report: which count, their names, numbers over launches."""
