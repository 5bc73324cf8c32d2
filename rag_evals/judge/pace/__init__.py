"""Rate limits, retries and time-outs."""
