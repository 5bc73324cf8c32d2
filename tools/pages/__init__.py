"""What the documentation site needs besides its text: pictures, an index for programs, checks."""
