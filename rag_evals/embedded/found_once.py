"""What is an attribute that is found on first use, at the least cost?

`functools.cached_property` takes a lock each time before Python 3.12, which costs more than most of
what is found here. Two threads may find the same thing twice; both find the same.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class found_once(Generic[T]):  # noqa: N801 - used as `property` is
    """An attribute that replaces itself by what its function returns.

    Args:
        find: A method without arguments.
    """

    # Any: the function takes the class that it stands in, which nothing here looks into.
    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self._name = find.__name__
        self.__doc__ = find.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> "found_once[T]": ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: object | None, kind: type) -> "found_once[T] | T":
        if owner is None:
            return self
        value = self._find(owner)
        owner.__dict__[self._name] = value
        return value
