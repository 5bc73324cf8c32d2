"""What does a user change to have another address asked? Errors about an address name it."""

from contextvars import ContextVar

OF_A_CLIENT = "base_url of the client"

address_name: ContextVar[str] = ContextVar("address_name", default=OF_A_CLIENT)
"""Of the call that is being made, in this thread or task: a variable, or where else it stands."""
