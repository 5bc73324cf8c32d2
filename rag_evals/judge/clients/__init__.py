"""Who is asked? Strings, SDKs, and clients of the user's own."""
