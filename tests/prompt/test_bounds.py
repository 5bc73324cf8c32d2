"""What a template asks too much of, Python or the sandbox, is refused with its line."""

import pytest

from rag_evals.core import Chunk
from rag_evals.errors import PromptError
from rag_evals.prompt import Prompt
from rag_evals.prompt.template import VARIABLES

VALUES = dict.fromkeys(VARIABLES) | {
    "question": "xy",
    "chunks": [Chunk(0, "a"), Chunk(1, "b")],
}

TOO_MUCH: dict[str, tuple[str, str]] = {
    "words of nobody": ("{{ lipsum(n=100000) }}", "unknown variable 'lipsum'"),
    "a great range": ("{{ range(10**9)|list }}", "line 1: Range too big"),
    "a macro that calls itself": (
        "{% macro f(n) %}{{ f(n - 1) }}{% endmacro %}{{ f(1) }}",
        "nested too deeply, or recurses endlessly",
    ),
    "a loop that calls itself": (
        "{% for a in chunks recursive %}{{ loop(chunks) }}{% endfor %}",
        "nested too deeply, or recurses endlessly",
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
    """By an error that says what was too much, and where."""
    text, message = TOO_MUCH[name]

    with pytest.raises(PromptError) as caught:
        Prompt(text).render(VALUES)

    assert message in str(caught.value)


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
