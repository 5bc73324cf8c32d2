"""Judge clients, created from judge strings or passed by users."""
