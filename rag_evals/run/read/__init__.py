"""Reading of graded runs: numbers, tables, files, and merging."""
