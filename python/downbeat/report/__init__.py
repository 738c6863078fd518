"""Self-contained pages: findings, pictures drawn with matplotlib, tables, in one file that opens offline."""
