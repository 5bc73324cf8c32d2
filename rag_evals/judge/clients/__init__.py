"""Clients of judges: strings, SDKs and a user's own clients."""
