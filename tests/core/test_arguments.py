"""Settings that must be numbers: one check for every verifier and every cache."""

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_evals.cache.semantic import SemanticCache
from rag_evals.core.arguments import (
    cache_variables,
    check_settings,
    fault_of,
    parse_settings,
    private_file,
    require_fraction,
    require_positive,
    require_whole,
)
from rag_evals.embedded import EmbeddedVerifier
from rag_evals.errors import ConfigurationError
from rag_evals.verify import ClassifierVerifier, LLMVerifier

# What is given is wrong on purpose, so no type is named.
THRESHOLDS: dict[str, Callable[[Any], Any]] = {
    "embedded": lambda value: EmbeddedVerifier(threshold=value),
    "classifier": lambda value: ClassifierVerifier("a/b", threshold=value),
    "semantic cache": lambda value: SemanticCache(lambda _: [], threshold=value),
}
BATCH_SIZES: dict[str, Callable[[Any], Any]] = {
    "llm": lambda value: LLMVerifier(batch_size=value),
    "classifier": lambda value: ClassifierVerifier("a/b", batch_size=value),
}


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), True, [0.5], 1j])
@pytest.mark.parametrize("make", THRESHOLDS.values(), ids=THRESHOLDS)
def test_a_threshold_is_a_number_from_0_to_1(make: Callable[[Any], Any], value: object) -> None:
    """Whoever takes it: anything else is refused at once, with the value."""
    with pytest.raises(ConfigurationError, match="threshold is .*; expected a number from 0 to 1"):
        make(value)


@pytest.mark.parametrize("kind", ["classifier", "semantic cache"])
def test_a_threshold_in_quotes_is_no_number(kind: str) -> None:
    """The embedded judge takes names as well, and says which; the others take none."""
    with pytest.raises(ConfigurationError, match="threshold is '0.5'; expected a number from 0 to"):
        THRESHOLDS[kind]("0.5")
    with pytest.raises(ConfigurationError, match="no threshold '0.5'; available: balanced"):
        THRESHOLDS["embedded"]("0.5")
    with pytest.raises(ConfigurationError, match="0 to 1, or one of 'balanced', 'screen', 'stri"):
        THRESHOLDS["embedded"](2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0; expected at least 1"),
        (-3, "-3; expected at least 1"),
        ("3", "'3'; expected a whole number, at least 1"),
        (3.0, "3.0; expected a whole number, at least 1"),
        (True, "True; expected a whole number, at least 1"),
    ],
)
@pytest.mark.parametrize("make", BATCH_SIZES.values(), ids=BATCH_SIZES)
def test_a_batch_size_is_a_whole_number(
    make: Callable[[Any], Any], value: object, expected: str
) -> None:
    """Whoever takes it: anything else is refused at once, with the value."""
    with pytest.raises(ConfigurationError, match=f"batch_size is {expected}"):
        make(value)


def test_numbers_come_back_as_they_are_used() -> None:
    """Both ends of a range are right, and a whole number is a fraction where it can be one."""
    assert [require_fraction("x", value) for value in (0, 0.25, 1)] == [0.0, 0.25, 1.0]
    assert isinstance(require_fraction("x", 1), float)
    with pytest.raises(ConfigurationError, match="expected a number from 0 to 1"):
        require_fraction("x", 10**400)
    assert [require_whole("x", 1), require_whole("x", 0, least=0)] == [1, 0]


@pytest.mark.parametrize("value", [0, -1, True, "2", None, float("nan"), float("inf"), 10**400])
def test_a_weight_is_a_number_above_0(value: Any) -> None:
    """Neither 0 nor without an end, and no text."""
    with pytest.raises(ConfigurationError, match="x is "):
        require_positive("x", value)
    assert require_positive("x", 0.001) == 0.001


@pytest.mark.parametrize(
    ("name", "taken", "refused"),
    [
        ("temperature", [0, 0.5, 2, None], [True, "0", -0.1, 2.1, [0], float("nan"), 10**400]),
        ("top_p", [0, 0.5, 1], [True, None, "0.5", -0.1, 1.1, float("inf")]),
        ("max_tokens", [1, 900], [0, True, None, 1.5, "9"]),
        ("seed", [0, 7], [-1, False, None, 1.0]),
        ("window", [1, 5000], [0, True, None]),
        ("reasoning_effort", ["low", "none"], ["", " ", None, 3]),
    ],
)
def test_a_setting_is_one_that_judges_take(name: str, taken: list[Any], refused: list[Any]) -> None:
    """As it is, and in the same form; what cannot be is named before anything is asked."""
    for value in taken:
        assert check_settings({name: value}) == {name: value}
    for value in refused:
        with pytest.raises(ConfigurationError, match=f"{name} is "):
            check_settings({name: value})


@pytest.mark.parametrize(("written", "megabytes"), [("", 1000.0), ("0.5", 0.5), ("2e3", 2000.0)])
def test_a_cache_may_be_smaller_than_a_megabyte(
    monkeypatch: pytest.MonkeyPatch, written: str, megabytes: float
) -> None:
    """Without a number it may have a thousand; one that may have none is refused."""
    monkeypatch.setenv("RAG_EVALS_CACHE_MAX_MB", written)
    assert cache_variables() == ("", megabytes)
    for none in ("0", "nan", "-0.5"):
        monkeypatch.setenv("RAG_EVALS_CACHE_MAX_MB", none)
        with pytest.raises(ConfigurationError, match="megabytes above 0"):
            cache_variables()


@pytest.mark.parametrize(
    ("texts", "settings"),
    [
        (None, {}),
        (["temperature=none"], {"temperature": None}),
        (["temperature=None"], {"temperature": None}),
        (["reasoning_effort=a=b", "max_tokens=9"], {"reasoning_effort": "a=b", "max_tokens": 9}),
        (["top_p=1", "window= 900"], {"top_p": 1.0, "window": 900}),
        (["temperature = 0.5", "seed=7"], {"temperature": 0.5, "seed": 7}),
        (["reasoning_effort=none"], {"reasoning_effort": "none"}),
        (["seed=7", "seed=7"], {"seed": 7}),
    ],
)
def test_settings_are_read_from_texts(texts: Any, settings: dict[str, Any]) -> None:
    """Numbers where a number is due; "none" is a word of some models too."""
    assert parse_settings(texts) == settings


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["seed"], "--set 'seed' is not NAME=VALUE"),
        (["seed="], "--set 'seed=' is not NAME=VALUE"),
        (["=7"], "--set '=7' is not NAME=VALUE"),
        (["seed=none"], "seed is 'none'"),
        (["seed=7", "seed=8"], "--set seed is both 7 and 8"),
        (["heat=1"], "no setting 'heat'"),
    ],
)
def test_a_text_that_is_no_setting_is_refused(texts: list[str], message: str) -> None:
    """With the text, or what it says twice."""
    with pytest.raises(ConfigurationError, match=message):
        parse_settings(texts)


def test_a_private_file_is_the_owners_alone(tmp_path: Path) -> None:
    """Whether it was there before, with more in it for more people, or its folders were not."""
    old, new = tmp_path / "old.txt", tmp_path / "a" / "b" / "new.txt"
    old.write_text("much that was there before")
    old.chmod(0o644)
    for path in (old, new):
        with private_file(path) as file:
            file.write(b"new")
        assert path.read_bytes() == b"new"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_private_file_is_no_link_to_another(tmp_path: Path) -> None:
    """Neither to a file nor to where one would be made; a link to a device is no danger."""
    target, lost = tmp_path / "target.txt", tmp_path / "lost.txt"
    target.write_text("kept")
    for number, to in enumerate((target, lost)):
        link = tmp_path / f"link{number}"
        link.symlink_to(to)
        said = re.escape(f"is a symbolic link, which is not followed; use its target {str(to)!r}")
        with pytest.raises(ConfigurationError, match=said), private_file(link):
            pass
    assert (target.read_text(), lost.exists()) == ("kept", False)
    nowhere = tmp_path / "nowhere"
    nowhere.symlink_to(os.devnull)
    with private_file(nowhere) as file:
        file.write(b"gone")
    folder = tmp_path / "folder"
    folder.symlink_to(tmp_path)
    for path in (folder, tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be written: "), private_file(path):
            pass


def test_only_a_file_can_be_read(tmp_path: Path) -> None:
    """What else a path may be is told in words."""
    file, link = tmp_path / "file.txt", tmp_path / "link"
    file.write_text("a")
    link.symlink_to(file)

    assert (fault_of(file), fault_of(link)) == (None, None)
    assert fault_of(tmp_path / "gone.txt") == "does not exist"
    assert fault_of(tmp_path) == "is a folder"
    assert str(fault_of(Path(os.devnull))).startswith("is a pipe or a device")
    assert str(fault_of(file / "inner")).startswith("cannot be read: ")
    assert str(fault_of(Path("a\0b"))).startswith("cannot be read: ")
