"""Strings become clients, wrong ones clear errors; the kinds of client are told apart."""

import asyncio
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import instructor
import openai
import pytest

from rag_evals import Faithfulness, aevaluate, base, errors, evaluate
from rag_evals.core import JudgeCall, Meter
from rag_evals.judge.clients.build import (
    _reply_form,
    address_of,
    async_judge_for,
    endpoint_of,
)
from rag_evals.judge.clients.sdks import as_instructor
from rag_evals.judge.clients.strings import (
    ALIASES,
    OPENAI_HOSTS,
    PROVIDERS,
    Endpoint,
    Price,
    price_of,
    read_endpoint,
)
from rag_evals.judge.session import SessionSettings, judge_session
from rag_evals.response_models.statements import EXACT, FaithfulnessResult, ReplyForm
from rag_evals.testing import Script, ScriptedJudge
from tests.conftest import EIFFEL, statement

Start = Callable[[Script], ScriptedJudge]
ClientOf = Callable[..., instructor.Instructor]
GOOD = {"statements": [statement()]}


def test_a_string_becomes_a_client(scripted: Start) -> None:
    """`openai/MODEL` honours OPENAI_BASE_URL, names the model and asks for JSON by schema."""
    judge = scripted(GOOD)
    result = Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")

    assert result.score == 1.0
    assert judge.requests[0].body["model"] == "gpt-4o-mini"
    assert judge.requests[0].body["response_format"]["type"] == "json_schema"
    # Not api.openai.com: the plain form, which every server understands.
    assert "strict" not in judge.requests[0].body["response_format"]["json_schema"]


def test_a_string_works_async_in_several_loops(scripted: Start) -> None:
    """A client belongs to its event loop; the next loop gets another."""
    scripted(GOOD)
    for _ in range(2):
        result = asyncio.run(Faithfulness.agrade(**EIFFEL, client="openai/gpt-4o-mini"))
        assert result.score == 1.0
        # A connection left open would be an error here: warnings are.
        gc.collect()


@pytest.mark.slow
def test_reply_classes_are_built_before_threads_read_replies() -> None:
    """Old pydantic builds a class in place: a second thread would find it half built."""
    program = """
import instructor, openai
from openai.types.chat.chat_completion import ChatCompletion, Choice
from openai.types.responses import Response, ResponseOutputMessage
from rag_evals.judge import judge_for
built = {"TOOLS": (ChatCompletion, Choice), "RESPONSES_TOOLS": (Response, ResponseOutputMessage)}
for mode, models in built.items():
    sdk = openai.OpenAI(api_key="x")
    judge_for(instructor.from_openai(sdk, mode=instructor.Mode[mode]), "m")
    print([model.__pydantic_complete__ for model in models])
"""
    # A process of its own: in this one, earlier tests have built them.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[True, True]\n" * 2, "")


def test_a_client_is_made_once_for_its_settings(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connections are reused, and a changed base URL is not answered by the old client."""
    first = scripted(GOOD)
    Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")
    second = scripted(GOOD)
    Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")

    assert (len(first.requests), len(second.requests)) == (1, 1)
    Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")
    assert (len(second.requests), second.connections) == (2, 1)


def test_the_model_comes_from_the_call_the_grader_or_the_client(
    scripted: Start, client_of: ClientOf
) -> None:
    """The nearest wins: `grade`, then the grader, then the client's own."""
    judge = scripted(GOOD)
    grader = base.ContextEvaluation(
        prompt=Faithfulness.prompt, response_model=FaithfulnessResult, model="graders"
    )
    plain = client_of(judge)
    own: Any = instructor.from_provider(
        "openai/clients", base_url=judge.base_url, api_key="sk-test-SECRET"
    )
    grader.grade(**EIFFEL, client=plain, model="calls")
    grader.grade(**EIFFEL, client=plain)
    Faithfulness.grade(**EIFFEL, client=own)
    own.client.close()

    assert [r.body["model"] for r in judge.requests] == ["calls", "graders", "clients"]


def test_without_any_model_the_error_names_the_three_places(
    scripted: Start, client_of: ClientOf
) -> None:
    """Nothing is sent, and the message says where a model can be named."""
    judge = scripted(GOOD)
    with pytest.raises(errors.ConfigurationError, match="model= to grade, or model= to the grader"):
        Faithfulness.grade(**EIFFEL, client=client_of(judge))
    assert judge.requests == []


def test_no_key_is_one_clear_error() -> None:
    """The message names the variable and the judge that needs none."""
    with pytest.raises(errors.ConfigurationError, match=r"set OPENAI_API_KEY .*'embedded'"):
        Faithfulness.grade(**EIFFEL, client="openai/gpt-4o-mini")


@pytest.mark.parametrize(
    ("spec", "endpoint"),
    [
        ("openai/gpt-4o", ("openai", "gpt-4o", None)),
        ("openai/m@https://h:1/v1", ("openai", "m", "https://h:1/v1")),
        ("vllm/org/model@http://h:8000/v1", ("vllm", "org/model", "http://h:8000/v1")),
        ("azure/my-deployment", ("azure_openai", "my-deployment", None)),
        ("vertex/gemini-3-flash", ("vertexai", "gemini-3-flash", None)),
        ("Claude/claude-sonnet-4-6", ("anthropic", "claude-sonnet-4-6", None)),
        # What is no address belongs to the model's name.
        ("vertexai/claude@20240620", ("vertexai", "claude@20240620", None)),
        ("bedrock/eu.amazon.nova-v1:0", ("bedrock", "eu.amazon.nova-v1:0", None)),
        ("openai/@cf/meta/llama-3@https://h/v1", ("openai", "@cf/meta/llama-3", "https://h/v1")),
        ("vllm/m@v1.2", ("vllm", "m@v1.2", None)),
        ("vllm/My Models/m.gguf@HTTP://h/v1", ("vllm", "My Models/m.gguf", "HTTP://h/v1")),
    ],
)
def test_a_string_names_provider_model_and_address(
    spec: str, endpoint: tuple[str, str, str | None]
) -> None:
    """Other tools' names of providers are known, and an address follows an @."""
    assert read_endpoint(spec) == Endpoint(*endpoint)


NO_ADDRESSES = [
    *("", "ftp://a", "file:///tmp", "ws://a", "unix:///s", "//h", "http:/a", "http//a", "https:a"),
    *("localhost", "gpu-1:8000", "127.0.0.1", "[::1]", "[::1]:80", "api.host.com/v1", "gpu.lan"),
    *(" http://h/v1", "ttp://h/v1"),
]
"""What somebody may write for an address, and what is none."""


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpt-4o-mini", "judge 'gpt-4o-mini' is neither 'embedded' nor PROVIDER/MODEL"),
        ("openai/", "nor PROVIDER/MODEL"),
        ("/gpt", "nor PROVIDER/MODEL"),
        ("vllm/@http://h/v1", "nor PROVIDER/MODEL"),
        ("opnai/gpt-4o", "no provider 'opnai'; did you mean 'openai'"),
        ("anthropik/c", "did you mean 'anthropic'"),
        ("vertx/g", "did you mean 'vertex'"),
        ("openai/m@localhost:8000/v1", "an address must begin with http:// or https://"),
        ("bedrock/m@https://h/v1", "provider 'bedrock' does not accept an address; .*MODEL@URL'"),
        ("openai/m ", "a space at its start or end, or a control character"),
        ("openai/ m", "a space at its start or end, or a control character"),
        ("openai/m @http://h/v1", "a space at its start or end, or a control character"),
        ("openai/m\x00n", "a control character"),
        *((f"openai/m@{address}", "must begin with http://") for address in NO_ADDRESSES),
    ],
)
def test_a_string_that_names_no_judge_is_explained(spec: str, message: str) -> None:
    """A missing part or an unknown provider is found before anything is built."""
    with pytest.raises(errors.ConfigurationError, match=message):
        read_endpoint(spec)


def test_every_provider_of_instructor_is_known() -> None:
    """A string that instructor takes is taken here, and an alias never hides a provider."""
    from instructor.auto_client import supported_providers

    assert set(supported_providers) <= {*PROVIDERS, *ALIASES}
    assert set(ALIASES.values()) <= set(PROVIDERS)
    assert not set(ALIASES) & set(PROVIDERS)


@pytest.mark.parametrize(
    ("variables", "spec", "address"),
    [
        ({}, "openai/m", "https://api.openai.com/v1"),
        ({"OPENAI_BASE_URL": "http://a/v1"}, "openai/m", "http://a/v1"),
        ({"OPENAI_BASE_URL": "http://a/v1"}, "openai/m@http://b/v1", "http://b/v1"),
        ({}, "vllm/m", "http://localhost:8000/v1"),
        ({}, "ollama/m", "http://localhost:11434/v1"),
        ({"OLLAMA_HOST": "http://box:1234"}, "ollama/m", "http://box:1234/v1"),
        ({"OLLAMA_HOST": "box"}, "ollama/m", "http://box:11434/v1"),
        ({"OLLAMA_HOST": "0.0.0.0:7"}, "ollama/m", "http://127.0.0.1:7/v1"),
        ({"OLLAMA_HOST": "https://box/api/v1/"}, "ollama/m", "https://box:443/api/v1"),
        ({"OLLAMA_HOST": "[::]:7"}, "ollama/m", "http://[::1]:7/v1"),
        ({}, "databricks/m", None),
        ({"DATABRICKS_HOST": "http://a/"}, "databricks/m", "http://a/serving-endpoints"),
        ({}, "databricks/m@http://a/serving-endpoints/", "http://a/serving-endpoints"),
        ({"OPENAI_BASE_URL": "http://a/v1"}, "litellm/m", "http://a/v1"),
        ({"GROQ_API_BASE": "http://b/v1"}, "litellm/groq/m", "http://b/v1"),
        ({"OPENAI_BASE_URL": "http://a/v1"}, "litellm/groq/m", None),
        ({}, "azure/d", None),
        ({}, "anthropic/c", None),
    ],
)
def test_an_address_comes_from_the_string_or_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], spec: str, address: str | None
) -> None:
    """The string comes first; OLLAMA_HOST may be what `ollama serve` takes."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert read_endpoint(spec).address == address


@pytest.mark.parametrize("provider", ["openai", "vllm", "ollama"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_address_in_the_string_is_asked(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, provider: str, asynchronous: bool
) -> None:
    """`PROVIDER/MODEL@URL` needs no variable, and asks by schema."""
    judge = scripted(GOOD)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    spec = f"{provider}/some/model@{judge.base_url}"
    if asynchronous:
        result = asyncio.run(Faithfulness.agrade(**EIFFEL, client=spec))
    else:
        result = Faithfulness.grade(**EIFFEL, client=spec)

    assert result.score == 1.0
    assert judge.requests[0].body["model"] == "some/model"
    assert judge.requests[0].body["response_format"]["type"] == "json_schema"


def test_a_local_server_needs_no_key(scripted: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address may stand in a variable; any key is sent, for none is checked."""
    monkeypatch.setenv("VLLM_BASE_URL", scripted(GOOD).base_url)

    assert Faithfulness.grade(**EIFFEL, client="vllm/m").score == 1.0


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_azure_deployment_is_asked(
    scripted: Start, monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    """The deployment stands in the path, the key in Azure's header."""
    judge = scripted(GOOD)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", judge.base_url.removesuffix("/v1"))
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure-key")
    if asynchronous:
        result = asyncio.run(Faithfulness.agrade(**EIFFEL, client="azure/mine"))
    else:
        result = Faithfulness.grade(**EIFFEL, client="azure/mine")

    assert result.score == 1.0
    (request,) = judge.requests
    assert request.path == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert request.headers["api-key"] == "azure-key"


def test_azure_needs_an_address_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is asked for in one line, with the variable that holds it."""
    with pytest.raises(errors.ConfigurationError, match="set AZURE_OPENAI_ENDPOINT, or put it"):
        Faithfulness.grade(**EIFFEL, client="azure/mine")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "http://localhost:1")
    with pytest.raises(errors.ConfigurationError, match="set AZURE_OPENAI_API_KEY"):
        Faithfulness.grade(**EIFFEL, client="azure/mine")


def test_a_missing_provider_library_names_its_package() -> None:
    """The message says what to install."""
    with pytest.raises(errors.ConfigurationError, match="pip install .?anthropic"):
        Faithfulness.grade(**EIFFEL, client="anthropic/claude-sonnet-4-6")


def test_the_wrong_kind_of_client_gets_one_clear_error(
    scripted: Start, client_of: ClientOf
) -> None:
    """Sync in agrade, async in grade, and what is no client at all."""
    judge = scripted(GOOD)
    sync = client_of(judge)
    sdk = openai.AsyncOpenAI(base_url=judge.base_url, api_key="k")
    raw: Any = sdk
    wrong: Any = object()

    with pytest.raises(errors.ConfigurationError, match="async client cannot be used by grade"):
        Faithfulness.grade(**EIFFEL, client=instructor.from_openai(sdk))
    with pytest.raises(errors.ConfigurationError, match="sync client cannot be awaited"):
        asyncio.run(Faithfulness.agrade(**EIFFEL, client=sync))
    with pytest.raises(errors.ConfigurationError, match="async client cannot be used by grade"):
        Faithfulness.grade(**EIFFEL, client=raw)
    with pytest.raises(errors.ConfigurationError, match="client is object; expected a string"):
        Faithfulness.grade(**EIFFEL, client=wrong)


@pytest.mark.parametrize("kind", ["OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"])
def test_a_client_of_openai_itself_is_wrapped(scripted: Start, kind: str) -> None:
    """It is asked by schema, in `grade`, `agrade` and `evaluate`, and is not closed."""
    judge = scripted(GOOD)
    place: dict[str, Any] = {"base_url": judge.base_url}
    if "Azure" in kind:
        place = {"azure_endpoint": judge.base_url, "api_version": "2024-10-21"}

    async def grade_async(sdk: Any) -> float:
        async with sdk:
            graded = await Faithfulness.agrade(**EIFFEL, client=sdk, model="m")
            run = await aevaluate([EIFFEL], client=sdk, model="m")
        return graded.score + run.summary().graders["faithfulness"].scores[0]

    sdk = getattr(openai, kind)(api_key="k", **place)
    if kind.startswith("Async"):
        total = asyncio.run(grade_async(sdk))
    else:
        with sdk:
            total = Faithfulness.grade(**EIFFEL, client=sdk, model="m").score
            run = evaluate([EIFFEL], client=sdk, model="m")
            total += run.summary().graders["faithfulness"].scores[0]

    assert total == 2.0
    formats = [request.body["response_format"]["type"] for request in judge.requests]
    assert formats == ["json_schema"] * 2
    # One wrapper for all, because what was learned of a model is kept with it.
    assert as_instructor(sdk, asynchronous=True) is as_instructor(sdk, asynchronous=False)


@pytest.mark.slow
def test_a_process_that_ends_leaves_no_connection(scripted: Start) -> None:
    """The client of a string is kept for the next grading, and closed with the program."""
    scripted(GOOD)
    program = (
        "import rag_evals as r\n"
        "r.Faithfulness.grade(answer='a', context=['c'], client='openai/m')\n"
        "print('graded')\n"
    )
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ended.stdout == "graded\n"
    assert "unclosed" not in ended.stderr


def test_a_session_closes_what_it_made(scripted: Start) -> None:
    """A client made for one run leaves no connection behind."""
    judge = scripted(GOOD)

    async def session() -> None:
        async with judge_session("openai/gpt-4o-mini", None, SessionSettings()) as pipeline:
            call: Any = {"role": "user", "content": "?"}
            await pipeline.ask(JudgeCall((call,), FaithfulnessResult, {}), Meter())

    asyncio.run(session())
    assert len(judge.requests) == 1
    # A connection left open would be an error here: warnings are.
    gc.collect()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1"),
        ("HTTP_PROXY", "ftp://127.0.0.1"),
        ("SSL_CERT_FILE", "/no/such/file"),
    ],
)
def test_an_environment_that_makes_no_client_is_explained(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    """A proxy or a certificate that cannot be used is one line, and names what to look at."""
    monkeypatch.setenv("OPENAI_API_KEY", f"key of {variable}".replace(" ", "-"))
    monkeypatch.setenv(variable, value)
    with pytest.raises(
        errors.ConfigurationError, match=r"cannot create a client.*HTTPS_PROXY, SSL_CERT_FILE"
    ):
        Faithfulness.grade(**EIFFEL, client="openai/m@http://127.0.0.1:1/v1")


def test_a_mode_of_several_replies_is_refused() -> None:
    """A grading reads one reply, and instructor's parallel modes return a list."""
    sdk = openai.OpenAI(base_url="http://127.0.0.1:1", api_key="k")
    client = instructor.from_openai(sdk, mode=instructor.Mode.PARALLEL_TOOLS, model="m")
    with pytest.raises(errors.ConfigurationError, match="mode PARALLEL_TOOLS"):
        Faithfulness.grade(**EIFFEL, client=client)


@pytest.mark.parametrize(
    ("variables", "spec", "name", "key"),
    [
        ({}, "openai/m", "OPENAI_API_KEY", None),
        ({"OPENAI_API_KEY": "a"}, "openai/m", "OPENAI_API_KEY", "a"),
        ({"OPENAI_API_KEY": ""}, "openai/m", "OPENAI_API_KEY", None),
        ({}, "openai/m@http://h/v1", "OPENAI_API_KEY", "none"),
        ({"OPENAI_API_KEY": "a"}, "openai/m@http://h/v1", "OPENAI_API_KEY", "a"),
        ({}, "vllm/m", "VLLM_API_KEY", "none"),
        ({"VLLM_API_KEY": "a"}, "vllm/m", "VLLM_API_KEY", "a"),
        ({}, "ollama/m", "OLLAMA_API_KEY", "none"),
        ({}, "databricks/m", "DATABRICKS_TOKEN", None),
        ({}, "anthropic/m", "ANTHROPIC_API_KEY", None),
        ({"ANTHROPIC_AUTH_TOKEN": "b"}, "anthropic/m", "ANTHROPIC_AUTH_TOKEN", "b"),
        (
            {"ANTHROPIC_API_KEY": "a", "ANTHROPIC_AUTH_TOKEN": "b"},
            *("anthropic/m", "ANTHROPIC_API_KEY", "a"),
        ),
        ({"COHERE_API_KEY": "b", "CO_API_KEY": "a"}, "cohere/m", "CO_API_KEY", "a"),
        ({"GEMINI_API_KEY": "b", "GOOGLE_API_KEY": "a"}, "gemini/m", "GOOGLE_API_KEY", "a"),
        ({}, "bedrock/m", "", None),
        ({}, "litellm/groq/m", "", None),
    ],
)
def test_a_key_comes_from_the_first_variable_that_is_set(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], spec: str, name: str, key: str
) -> None:
    """A server that is named, or is this machine's, may need none."""
    for variable in ("ANTHROPIC", "CO", "COHERE", "GEMINI", "GOOGLE"):
        monkeypatch.delenv(f"{variable}_API_KEY", raising=False)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    endpoint = read_endpoint(spec)

    assert (endpoint.key_name, endpoint.key) == (name, key)


@pytest.mark.parametrize(
    ("variables", "spec", "name"),
    [
        ({}, "openai/m", "OPENAI_BASE_URL"),
        ({}, "openai/m@http://h/v1", "the address in the judge"),
        ({}, "writer/m", "its library's default"),
        ({}, "litellm/m", "OPENAI_BASE_URL"),
        ({"OPENAI_API_BASE": "http://h"}, "litellm/m", "OPENAI_API_BASE"),
        ({}, "litellm/xai-x/m", "XAI_X_API_BASE"),
        ({"GROQ_BASE_URL": "http://h"}, "litellm/groq/m", "GROQ_BASE_URL"),
    ],
)
def test_the_setting_of_an_address_is_named(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], spec: str, name: str
) -> None:
    """As the user has given it, or could."""
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)

    assert read_endpoint(spec).address_name == name


def test_an_empty_variable_selects_no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a host with OpenAI's API, where it is an error; another's library looks for itself."""
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setenv("GROQ_BASE_URL", "")

    assert read_endpoint("openai/m").address == ""
    assert read_endpoint("groq/m").address is None


def test_which_hosts_are_asked_with_tools() -> None:
    """Those whose models may not keep to a schema."""
    tools = {name for name, host in OPENAI_HOSTS.items() if host.mode == "TOOLS"}

    assert tools == set(
        "anyscale cerebras databricks deepseek fireworks openrouter together xai".split()
    )
    assert {host.mode for host in OPENAI_HOSTS.values()} == {"TOOLS", "JSON_SCHEMA"}


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("openai/m@https://user:key@h:1/v1/?key=k#part", "https://h:1/v1"),
        ("openai/m", "https://api.openai.com/v1"),
        ("databricks/m", ""),
        (SimpleNamespace(client=SimpleNamespace(base_url="http://u:p@h/v1//")), "http://h/v1"),
        (SimpleNamespace(client=None), ""),
        (SimpleNamespace(), ""),
    ],
)
def test_an_address_is_shown_and_kept_without_credentials(given: Any, address: str) -> None:
    """And without what follows the path: neither tells one server from another."""
    assert address_of(given) == address


def test_who_is_asked_is_a_provider_at_an_address() -> None:
    """A decision model at one is another than one that writes; a client has settings too."""
    address = "https://h/v1"
    texts = {
        endpoint_of(spec)
        for spec in (
            f"openai/a@{address}",
            f"openai/b@{address}/",
            f"vllm/a@{address}",
            f"decisions:a@{address}",
            "openai/a@https://other/v1",
        )
    }

    assert texts == {
        f"openai {address}",
        f"vllm {address}",
        f"openai {address} decisions",
        "openai https://other/v1",
    }
    clients = [
        SimpleNamespace(provider=provider, client=SimpleNamespace(base_url=url), kwargs=own)
        for provider, url, own in (
            ("p", address, {}),
            ("q", address, {}),
            ("p", "https://other/v1", {}),
            ("p", address, {"seed": 1}),
            ("p", address, {"model": "m"}),
        )
    ]
    named = [endpoint_of(client) for client in clients]
    assert len(set(named)) == 4
    assert named[0] == named[4]
    assert named[0].startswith(f"p {address} ")


COMPILED = ReplyForm(padded=True, lengths=False)
UNKNOWN = ReplyForm(lengths=False, known=False)


@pytest.mark.parametrize(
    ("provider", "url", "form"),
    [
        ("openai", "https://api.openai.com/v1", COMPILED),
        ("openai", "https://eu.api.openai.com/v1", UNKNOWN),
        ("openai", "http://localhost:8000/v1", UNKNOWN),
        ("openai", "https://mine.openai.azure.com/openai", COMPILED),
        ("azure_openai", "https://gateway/openai", COMPILED),
        ("anthropic", "https://api.anthropic.com", COMPILED._replace(counts=False)),
        ("bedrock", "", COMPILED._replace(counts=False)),
        ("vllm", "http://localhost:8000/v1", EXACT),
        ("vllm", "https://api.openai.com/v1", COMPILED),
        ("ollama", "http://localhost:11434/v1", EXACT),
        ("google", "", ReplyForm(lengths=False, choices=False)),
        ("genai", "", ReplyForm(lengths=False, choices=False)),
        ("vertexai", "", ReplyForm(lengths=False, choices=False)),
        ("groq", "", UNKNOWN),
    ],
)
def test_a_schema_has_what_its_host_takes(provider: str, url: str, form: ReplyForm) -> None:
    """The host is known by its address first, and then by its provider."""
    client = SimpleNamespace(client=SimpleNamespace(base_url=url))
    assert _reply_form(provider, client) == form


@pytest.mark.parametrize(
    ("spec", "strict", "mode"),
    [
        ("openai/m@https://api.openai.com/v1", True, "JSON_SCHEMA"),
        ("openai/m@https://elsewhere/v1", False, "JSON_SCHEMA"),
        ("together/m@https://api.openai.com/v1", False, "TOOLS"),
    ],
)
def test_a_strict_schema_is_for_openai_alone(spec: str, strict: bool, mode: str) -> None:
    """Other hosts may refuse it, and a tool has none."""

    async def made() -> Any:
        return await async_judge_for(spec)

    judge = asyncio.run(made())
    settings = judge._settings
    assert (settings.strict, settings.default_model, settings.model) == (strict, "m", None)
    assert settings.address_name == "the address in the judge"
    assert judge._client.mode.name == mode


@pytest.mark.parametrize(
    ("model", "prompt"),
    [
        ("m", 1.0),
        ("x/m", 1.0),
        ("m-2024-01-01", 1.0),
        ("m-2024-05-13", 2.0),
        ("m-2024-05-13-2025", 2.0),
        ("m-mini", 3.0),
        ("m-mini-2024", 3.0),
        ("m-mini-20b", None),
        ("mini", None),
        ("gpt-4o-mini", 9.0),
        ("gpt-4o-mini-2024-07-18", 9.0),
    ],
)
def test_the_longest_name_that_fits_has_the_price(
    monkeypatch: pytest.MonkeyPatch, model: str, prompt: float | None
) -> None:
    """A version with a price of its own is not its family; a user's family comes before ours."""
    names = {"m": 1.0, "m-2024-05-13": 2.0, "m-mini": 3.0, "gpt-4o-mini": 9.0}
    models = {name: {"prompt": price, "completion": 8.0} for name, price in names.items()}
    models["m-mini"] |= {"cached": 0.5, "as_of": "2026-01"}  # type: ignore[dict-item]  # a word
    Path("own.json").write_text(json.dumps({"as_of": "2026-11", "models": models}))
    monkeypatch.setenv("RAG_EVALS_PRICES", str(Path("own.json").absolute()))
    is_mini = model.startswith("m-mini")
    cached, as_of = (0.5, "2026-01") if is_mini else (prompt, "2026-11")

    found = price_of(model)
    if prompt is None or cached is None:
        assert found is None
    else:
        assert found == Price(prompt, 8.0, cached, as_of)


def test_a_key_that_changes_is_sent_from_then_on(
    scripted: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client of before has the old one."""
    judge = scripted(GOOD)
    for key in ("key-1", "key-2", "key-1"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        Faithfulness.grade(**EIFFEL, client="openai/m")

    sent = [request.headers["authorization"] for request in judge.requests]
    assert sent == ["Bearer key-1", "Bearer key-2", "Bearer key-1"]
