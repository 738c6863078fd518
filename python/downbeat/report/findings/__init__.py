"""What was found, a file for each question, in sentences with numbers."""
