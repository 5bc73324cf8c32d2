"""Integrations with OpenTelemetry (`otel`) and Ray (`ray`).

Each module requires its library and must be imported explicitly.
"""
