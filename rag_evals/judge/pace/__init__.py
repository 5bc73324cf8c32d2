"""Rate limits, retries and timeouts."""
