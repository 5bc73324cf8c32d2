"""What can be asked of a run that was graded? Numbers, tables, files, and merging."""
