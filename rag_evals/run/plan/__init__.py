"""Run plans: options, rows, samples and gates, all checked before anything is sent."""
