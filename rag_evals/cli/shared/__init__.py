"""What commands have in common: options, and what they choose and show."""
