"""Read graded runs: load and merge them, and export tables and files."""
