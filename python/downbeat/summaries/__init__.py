"""What pictures and the report both need of an experiment's cells: which count, their names, numbers over launches."""
