"""Plans of runs: options, rows, samples and gates, all checked before anything is sent."""
