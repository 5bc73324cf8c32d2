"""Judge clients from strings, SDKs and users."""
