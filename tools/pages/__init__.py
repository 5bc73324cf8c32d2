"""What the documentation site needs beside its text: pictures, an index for programs, checks."""
