"""Code shared by commands: options, the config file, graders, gates, runs and exit codes."""
