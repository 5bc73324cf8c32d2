"""A template does only so much: whatever it asks for, it ends soon, with its line."""

import time

import pytest

from rag_evals.core import Chunk
from rag_evals.errors import PromptError
from rag_evals.prompt import VARIABLES, Prompt

VALUES = dict.fromkeys(VARIABLES) | {
    "question": "xy",
    "chunks": [Chunk(0, "a"), Chunk(1, "b")],
}
_GROW = "{%% set n = namespace(x='ab') %%}{%% for i in range(99) %%}%s{%% endfor %%}{{ n.x }}"

TOO_MUCH: dict[str, tuple[str, str]] = {
    "words of nobody": ("{{ lipsum(n=100000) }}", "unknown variable 'lipsum'"),
    "nested loops": (
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "line 1: more than 1,000,000 turns of loops and calls",
    ),
    "a great range": ("{{ range(10**9)|list }}", "a number greater than 50,000,000 in a call"),
    "a long output": (
        "{% for a in range(99999) %}{{ question * 1000 }}{% endfor %}",
        "a text of more than 50,000,000 characters",
    ),
    "a text times a number": ("{{ 'a' * 10**10 }}", "a text of more than 50,000,000 characters"),
    "a list times a number": ("{{ ['a'] * 10**10 }}", "a text of more than 50,000,000"),
    "a great power": ("{{ 9**(9**9) }}", "a number of more than 10000 bits"),
    "doubled by ~": (_GROW % "{% set n.x = n.x ~ n.x %}", "a text of more than 50,000,000"),
    "doubled by +": (_GROW % "{% set n.x = n.x + n.x %}", "a text of more than 50,000,000"),
    "doubled by set": (
        _GROW % "{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}",
        "a text of more than 50,000,000",
    ),
    "doubled by replace": (
        _GROW % "{% set n.x = n.x|replace('a', n.x) %}",
        "a text of more than 50,000,000",
    ),
    "centred": ("{{ 'a'|center(9999999999) }}", "a number greater than 50,000,000"),
    "filled up": ("{{ 'a'.ljust(9999999999) }}", "a number greater than 50,000,000"),
    "formatted by %": ("{{ '%9999999999d' % 1 }}", "a format with a width of six digits"),
    "formatted by a filter": ("{{ '%9999999999d'|format(1) }}", "a format with a width of six"),
    "formatted by a method": ("{{ '{:9999999999}'.format(1) }}", "a format with a width of six"),
    "a macro that calls itself": (
        "{% macro f(n) %}{{ f(n - 1) }}{% endmacro %}{{ f(1) }}",
        "nested too deeply, or calls itself without end",
    ),
    "a loop that calls itself": (
        "{% for a in chunks recursive %}{{ loop(chunks) }}{% endfor %}",
        "nested too deeply, or calls itself without end",
    ),
    "brackets": ("{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}", "nested too deeply"),
    "conditions": ("{% if answer %}" * 300 + "x" + "{% endif %}" * 300, "nested too deeply"),
    "loops in loops": (
        "{% for a in chunks %}" * 30 + "x" + "{% endfor %}" * 30,
        "nested too deeply",
    ),
    "a long number": ("{{ %s }}" % ("9" * 5000), "Exceeds the limit"),
    "an unknown filter": ("a\n{{ answer|nofilter }}", "line 2: No filter named 'nofilter'"),
    "an unknown test": ("a\n{{ 1 is notest }}", "line 2: No test named 'notest'"),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_a_template_that_does_too_much_is_refused(name: str) -> None:
    """Within seconds and megabytes, by an error that says what was too much."""
    text, message = TOO_MUCH[name]
    began = time.process_time()

    with pytest.raises(PromptError) as caught:
        Prompt(text).render(VALUES)

    assert message in str(caught.value)
    assert time.process_time() - began < 30


def test_a_template_whose_calls_multiply_ends() -> None:
    """2 to the power of 90 calls: their number or their time ends it."""
    text = "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(90) }}"

    with pytest.raises(PromptError, match="turns of loops and calls|longer than 10 s"):
        Prompt(text).render(VALUES)


def test_what_prompts_need_is_as_before() -> None:
    """Loops know their length, texts are joined and repeated, filters work."""
    text = (
        "{% for a in chunks %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}"
        "{% endfor %} {{ 'a' ~ 1 ~ none }} {{ 'ab' * 3 }} {{ 2**10 }} {{ 7 % 4 }} "
        "{{ '%s-%s' % ('a', 'b') }} {{ question|upper }} {{ ['x', 'y']|join('+') }}"
        "{% for key, value in {'a': 1}.items() %} {{ key }}={{ value }}{% endfor %}"
        "{% for n in range(3) if n %} {{ n }}{% else %}none{% endfor %}"
    )

    assert Prompt(text).render(VALUES) == "1/2,2/2 a1None ababab 1024 3 a-b XY x+y a=1 1 2"
