"""Other systems that run or watch grading: `otel` and `ray`; no other room imports them.

Each file needs the library that it is named after, and is imported by its own name.
"""
