"""Requests to endpoints, and their replies."""

NO_KEY = "none"
"""Placeholder for servers that do not need a key."""
