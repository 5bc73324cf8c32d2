"""The command line: `rag-evals`, one file per command."""
