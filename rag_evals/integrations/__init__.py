"""OpenTelemetry (`otel`) and Ray (`ray`).

Each module needs its own library, and is imported by name.
"""
