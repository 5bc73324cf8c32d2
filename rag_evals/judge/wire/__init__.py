"""Requests to endpoints, and their replies."""
