"""Self-contained pages: what was found, pictures, tables, in one file that opens offline."""
