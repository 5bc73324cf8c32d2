"""Where do results go, and who else calls us? One file for each tool; no other room imports them.

Each file needs the library that it is named after, and is imported by its own name; `rows` has what
several share.
"""
