"""Self-contained pages: what was found, pictures drawn with matplotlib, tables, in one file that opens offline."""
