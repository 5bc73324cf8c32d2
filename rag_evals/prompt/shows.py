"""Does a prompt show all that its reply speaks of? Checked before anything is sent."""

from collections.abc import Mapping, Sequence

from rag_evals.errors import ConfigurationError, PromptError
from rag_evals.prompt.rendering import Criterion
from rag_evals.prompt.template import Prompt


def read_criteria(given: object) -> list[Criterion]:
    """Read what each criterion of a checklist asks, by name.

    Raises:
        ConfigurationError: It is no mapping.
    """
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"criteria is {given!r}; expected a dictionary, as in "
            "{'polite': 'The answer is polite.'}"
        )
    return [Criterion(name, text) for name, text in given.items()]


def check_criteria(prompt: Prompt, response_model: type, criteria: Sequence[object]) -> None:
    """Refuse a checklist without criteria, and a template that hides them.

    Raises:
        PromptError: It says what to write.
    """
    if getattr(response_model, "needs_criteria", False) and not criteria:
        raise PromptError(
            f"{prompt.origin}: a checklist needs criteria; write them into the front matter, as in "
            "criteria: {polite: The answer is polite.}"
        )
    if criteria and prompt.places_data and not prompt.uses("criteria"):
        raise PromptError(
            f"{prompt.origin}: criteria are given, but the template does not show them; write "
            "{% for criterion in criteria %}{{ criterion.name }}: {{ criterion.text }}"
            "{% endfor %}"
        )


def check_numbered(prompt: Prompt, response_model: type) -> None:
    """Refuse a template that hides ids which the reply must name.

    Raises:
        PromptError: It says what to write.
    """
    for name in ("sentences", "statements"):
        wanted = getattr(response_model, f"numbered_{name}", False)
        if wanted and prompt.places_data and not prompt.uses(name):
            raise PromptError(
                f"{prompt.origin}: the reply of {response_model.__name__} names "
                f"{name} by id, but the template does not show them; write {{% for one in "
                f"{name} %}}{{{{ one.id }}}}: {{{{ one.text }}}}{{% endfor %}}"
            )
