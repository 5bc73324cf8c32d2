"""What is written by the machine, all by one command: `python -m tools.generate`."""
