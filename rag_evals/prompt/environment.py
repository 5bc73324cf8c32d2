"""What may a template do? Its loops, calls, texts and seconds are counted and limited."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_STEPS = 1_000_000
"""Turns of loops, and calls, in one rendering."""
MAX_CHARACTERS = 50_000_000
"""The longest text that a rendering may make, in all or on the way."""
MAX_SECONDS = 10.0
"""The most time for one rendering."""

_MAX_BITS = 10_000
_STEPS_BETWEEN_LOOKS = 1000
_MOST_ATTRIBUTES = 1000
# "%999999d" and "{:>999999}" make long texts of short ones.
_WIDE_FORMAT = re.compile(r"\d{6,}")


class TemplateLimitError(jinja2.TemplateError):
    """A template does more than a prompt needs."""


class _WorkCounter:
    """What one rendering has done so far."""

    def __init__(self) -> None:
        self._steps = 0
        self._began = time.monotonic()

    def step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TemplateLimitError(f"more than {MAX_STEPS:,} turns of loops and calls")
        late = self._steps % _STEPS_BETWEEN_LOOKS == 0
        if late and time.monotonic() - self._began > MAX_SECONDS:
            raise TemplateLimitError(f"rendering takes longer than {MAX_SECONDS:g} s")


_counter: ContextVar[_WorkCounter | None] = ContextVar("_counter", default=None)


@contextmanager
def counted_work() -> Iterator[None]:
    """Count what a rendering does, from nothing."""
    token = _counter.set(_WorkCounter())
    try:
        yield
    finally:
        _counter.reset(token)


class _Generator(CodeGenerator):
    """Writes loops and joined texts so that they are counted."""

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        node.iter = _call("bounded", node.iter)
        super().visit_For(node, frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        self.visit(_call("joined", *node.nodes), frame)


# Any: Jinja calls what a loop runs over a node, and what a call takes an expression.
def _call(name: str, *arguments: Any) -> nodes.Call:
    called = nodes.EnvironmentAttribute(name, lineno=arguments[0].lineno)
    made = nodes.Call(called, list(arguments), [], None, None, lineno=arguments[0].lineno)
    return made.set_environment(arguments[0].environment)  # type: ignore[return-value]  # it returns itself


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox with bounds, which knows which file each template means by a name."""

    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "*", "**", "%"})
    links: Mapping[tuple[str, str], str]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Words that nobody wrote are no prompt.
        del self.globals["lipsum"]
        self._safe_attributes: dict[tuple[type, str], bool] = {}
        self.filters = _bounded_filters()

    def join_path(self, template: str, parent: str) -> str:
        """Return the key of the template that `parent` calls `template`."""
        return self.links.get((parent, template), template)

    def filled(self, template: jinja2.Template, variables: Mapping[str, object]) -> str:
        """Fill a template, as its own `render` does.

        That puts globals and variables together through two layers for every rendering.
        """
        context = template.new_context({**self.globals, **variables}, shared=True)
        try:
            return self.concat(template.root_render_func(context))
        except Exception:  # noqa: BLE001 - raised again, with the template's own line
            self.handle_exception()

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return a field of what a template sees."""
        found = getattr(obj, attribute, None)
        # A plain text cannot be called, so nothing has to be wrapped.
        if type(found) is str and self.is_safe_attribute(obj, attribute, found):
            return found
        return super().getattr(obj, attribute)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Say whether a template may read an attribute; the type of the object decides."""
        asked = (type(obj), attr)
        # A prompt reads the same few attributes of every chunk.
        if (known := self._safe_attributes.get(asked)) is None:
            known = super().is_safe_attribute(obj, attr, value)
            # The names in a filter may come from data, and never end.
            if len(self._safe_attributes) < _MOST_ATTRIBUTES:
                self._safe_attributes[asked] = known
        return known

    def bounded(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yield the items of a loop and count its turns."""
        for item in items:
            _step()
            yield item

    def joined(self, *parts: object) -> str:
        """Join texts, as `~` does."""
        return self.concat(map(str, parts))

    def concat(self, parts: Iterable[str]) -> str:
        """Put a text together, unless it grows too long."""
        pieces, size = [], 0
        for piece in parts:
            size += len(piece)
            # Written out: a prompt has dozens of pieces, and a call for each is felt in a run.
            if size > MAX_CHARACTERS:
                _check_size(size)
            pieces.append(piece)
        return "".join(pieces)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - keywords of a template may be named self
        """Call what a template calls, and count it."""
        _step()
        _check_numbers([*args, *kwargs.values()])
        # The sandbox wraps the methods of a text that fill it in.
        method = getattr(__obj, "__wrapped__", __obj)
        receiver = getattr(method, "__self__", None)
        if isinstance(receiver, str) and method.__name__ in ("format", "format_map"):
            _check_format(receiver)
        return _checked(super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Calculate, unless the outcome would fill the memory."""
        if operator in ("*", "**") and isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * max(right, 1) if operator == "**" else left.bit_length()
            if bits + right.bit_length() > _MAX_BITS:
                raise TemplateLimitError(f"a number of more than {_MAX_BITS} bits")
        elif operator == "*":
            for text, times in ((left, right), (right, left)):
                if isinstance(text, str | list | tuple) and isinstance(times, int):
                    _check_size(len(text) * max(times, 0))
        elif operator == "%" and isinstance(left, str):
            _check_format(left)
            _check_numbers(right if isinstance(right, tuple) else [right])
        return _checked(super().call_binop(context, operator, left, right))


@cache
def _bounded_filters() -> dict[str, Callable[..., Any]]:
    return {name: _bounded_filter(made) for name, made in FILTERS.items()}


def _bounded_filter(made: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(made)
    def bounded(*args: Any, **kwargs: Any) -> Any:
        _step()
        _check_numbers([*args, *kwargs.values()])
        if made.__name__ == "do_format":
            _check_format(str(args[0]))
        return _checked(made(*args, **kwargs))

    return bounded


def _step() -> None:
    work = _counter.get()
    if work is not None:
        work.step()


def _checked(made: Any) -> Any:
    if isinstance(made, str | list | tuple):
        _check_size(len(made))
    return made


def _check_size(size: int) -> None:
    if size > MAX_CHARACTERS:
        raise TemplateLimitError(f"a text of more than {MAX_CHARACTERS:,} characters")


def _check_numbers(values: Iterable[Any]) -> None:
    """Refuse widths and counts that no prompt needs."""
    for value in values:
        if isinstance(value, int) and abs(value) > MAX_CHARACTERS:
            raise TemplateLimitError(f"a number greater than {MAX_CHARACTERS:,} in a call")


def _check_format(text: str) -> None:
    if _WIDE_FORMAT.search(text):
        raise TemplateLimitError("a format with a width of six digits or more")
