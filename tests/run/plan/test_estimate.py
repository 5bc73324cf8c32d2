"""A dry run counts what a run would ask for, and sends nothing."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import instructor
import openai
import pytest

from rag_evals import Faithfulness, Sample, TwoStepFaithfulness, base
from rag_evals.cache import SemanticCache
from rag_evals.core import Meter, Usage
from rag_evals.errors import ConfigurationError, DataError
from rag_evals.grading.extract import SentenceExtractor
from rag_evals.judge.clients.strings import price_of
from rag_evals.response_models.statements import FaithfulnessResult
from rag_evals.run import RunOptions, Sampling, Summary, make_plan
from rag_evals.run.plan.plan import Estimate, estimate
from rag_evals.run.plan.sampling import SEED, Budget
from rag_evals.testing import Script, ScriptedJudge
from rag_evals.text import token_counter
from rag_evals.verify import LLMVerifier

Start = Callable[[Script], ScriptedJudge]
ROWS = [
    Sample(question="Where?", answer="It stands in Paris.", context=["c"]),
    Sample(answer="", context=["c"]),
    Sample(answer="It is tall.", context=["c"]),
]


def test_rows_calls_tokens_and_money_are_counted(scripted: Start) -> None:
    """Rows that are not scorable make no call; no request is made."""
    judge = scripted(None)
    found = estimate(make_plan(ROWS, ["faithfulness"], "openai/gpt-4o-mini"))

    assert (found.rows, found.calls) == (3, 2)
    assert found.prompt_tokens > 200
    assert found.cost_usd is not None
    assert found.cost_usd > 0
    price = price_of("gpt-4o-mini")
    assert price is not None
    assert found.price_as_of == price.as_of
    assert "3 rows, 2 calls, " in str(found)
    assert "nothing was sent" in str(found)
    assert judge.requests == []


def test_an_estimate_is_that_of_its_calls_by_hand(scripted: Start) -> None:
    """What is sent beside its schema, and three tokens to receive for one of the answer."""
    judge = scripted(None)
    found = estimate(make_plan(ROWS, ["faithfulness"], "openai/gpt-4o-mini"))
    count, counted_by = token_counter("gpt-4o-mini")
    price = price_of("gpt-4o-mini")
    for row in ROWS[::2]:
        Faithfulness.grade(row, client="openai/gpt-4o-mini")
    sent = sum(count(one["content"]) for request in judge.requests for one in request.messages)

    assert price is not None
    assert found.counted_by == counted_by
    assert found.completion_tokens == 3 * sum(count(str(row.answer)) for row in ROWS[::2])
    assert 2 * sent < found.prompt_tokens < 4 * sent
    usage = Usage(prompt_tokens=found.prompt_tokens, completion_tokens=found.completion_tokens)
    assert found.cost_usd == pytest.approx(price.cost_usd(usage))
    relevance = estimate(make_plan(ROWS[:1], ["answer_relevance"], "openai/gpt-4o-mini"))
    assert relevance.completion_tokens == 3 * count("It stands in Paris.")


def test_the_reply_of_a_call_is_as_long_as_its_part_of_the_answer() -> None:
    """300 sentences in eight calls: each reply has the verdicts on its own, and none on all."""
    answer = " ".join(f"House number {n} is {n + 3} metres tall." for n in range(300))
    row = Sample(answer=answer, context=["c"])
    found = estimate(make_plan([row], ["faithfulness"], "openai/gpt-4o-mini"))
    count, _ = token_counter("gpt-4o-mini")

    assert found.calls == 8
    assert found.completion_tokens == pytest.approx(3 * count(answer), rel=0.02)


@pytest.mark.parametrize(
    ("chosen", "of_grader", "of_client", "model"),
    [
        ("gpt-4o-mini", "my-own", "my-own", "gpt-4o-mini"),
        (None, "gpt-4.1", "my-own", "gpt-4.1"),
        (None, None, "gpt-4o", "gpt-4o"),
        ("my-own", "gpt-4.1", "gpt-4o", None),
        (None, "my-own", "gpt-4o", None),
    ],
)
def test_the_model_that_is_asked_has_its_price(
    scripted: Start, chosen: str | None, of_grader: str | None, of_client: str, model: str | None
) -> None:
    """That of the run before that of the grader, and this before that of the client."""
    scripted(None)
    grader = base.ContextEvaluation("Judge.", FaithfulnessResult, model=of_grader)
    options: RunOptions = {} if chosen is None else {"model": chosen}
    with openai.OpenAI() as sdk:
        client = instructor.from_openai(sdk, model=of_client)
        found = estimate(make_plan(ROWS, [grader], client, options=options))
        nothing = estimate(make_plan(ROWS[1:2], [grader], client, options=options))
    if (price := price_of(model)) is None:
        assert (found.cost_usd, found.price_as_of, nothing.cost_usd) == (None, None, None)
        return
    used = Usage(prompt_tokens=found.prompt_tokens, completion_tokens=found.completion_tokens)
    assert found.cost_usd == pytest.approx(price.cost_usd(used))
    assert (found.price_as_of, nothing.cost_usd) == (price.as_of, 0.0)


def test_rows_that_cannot_be_read_make_no_call() -> None:
    """They are rows all the same; a conversation is one call where only its end is graded."""
    turns = [("user", "Where?"), ("assistant", "In Paris."), ("user", "Old?"), ("assistant", "No.")]
    rows = [{"answer": 3, "question": "?"}, {"turns": turns, "context": ["c"]}]

    found = estimate(make_plan(rows, ["answer_relevance"], "openai/m"))
    assert (found.rows, found.calls) == (2, 1)
    assert estimate(make_plan(rows[1:], ["faithfulness"], "openai/m")).calls == 2
    free = estimate(make_plan(rows[1:], ["faithfulness"], "embedded"))
    assert (free.calls, free.prompt_tokens) == (0, 0)


def test_an_unknown_price_is_not_guessed() -> None:
    """A model that is in no table has no cost."""
    found = estimate(make_plan(ROWS, ["faithfulness"], "openai/my-own"))

    assert (found.cost_usd, found.price_as_of) == (None, None)
    assert "price of the model unknown" in str(found)


def test_an_estimate_is_said_with_four_places_of_a_dollar() -> None:
    """And at least so much, where a second round of calls is not known."""
    found = Estimate(3, 2, 500, 90, 0.01234, "o200k", "2026-11")
    tokens = "500 tokens to send and about 90 to receive (o200k)"
    said = f"3 rows, 2 calls, {tokens}, about $0.0123 at list prices of 2026-11; nothing was sent"

    assert str(found) == said
    open_ended = str(replace(found, at_least=True))
    assert open_ended == said.replace("2 calls", "at least 2 calls").replace(
        "about $", "at least $"
    )
    assert "at least 0 calls" in str(replace(found, calls=0, at_least=True))


def test_the_embedded_judge_costs_nothing() -> None:
    """It makes no call at all."""
    found = estimate(make_plan(ROWS, ["faithfulness"], "embedded"))

    assert found.calls == 0
    assert str(found) == "3 rows, 0 calls: no model is called, so this costs nothing"


def test_what_is_decided_here_is_not_counted(scripted: Start) -> None:
    """A cascade asks the model only where words leave it unsure; a second round is not known."""
    judge = scripted(None)
    rows = [
        Sample(answer="The tower stands in Paris.", context=["The tower stands in Paris."]),
        Sample(answer="The tower is said to lean.", context=["The tower stands in Paris."]),
    ]
    cascade = estimate(make_plan(rows, ["faithfulness"], "embedded>openai/m"))
    two_step = estimate(make_plan(rows, ["faithfulness_two_step"], "openai/m"))

    assert (cascade.calls, cascade.at_least) == (1, False)
    assert (two_step.calls, two_step.at_least) == (2, True)
    assert cascade.completion_tokens > 0
    assert two_step.completion_tokens > 0
    assert "2 rows, at least 2 calls, " in str(two_step)
    assert judge.requests == []


def test_not_even_vectors_are_asked_for(scripted: Start) -> None:
    """A semantic cache would embed every statement to look it up."""
    asked: list[list[str]] = []
    judge = scripted(None)
    verifier = LLMVerifier(endpoint="openai/m")
    plain = TwoStepFaithfulness.with_parts(extractor=SentenceExtractor(), verifier=verifier)
    grader = plain.with_cache(SemanticCache(asked.append))  # type: ignore[arg-type]  # never called

    assert estimate(make_plan(ROWS, [grader], "embedded")).calls == 2
    assert (asked, judge.requests) == ([], [])


@pytest.mark.parametrize(
    ("model", "known"),
    [
        ("gpt-4o-mini", True),
        ("gpt-4o-mini-2024-07-18", True),
        ("openai/gpt-4o", True),
        ("gpt-4o-audio", False),
        ("llama3", False),
        (None, False),
    ],
)
def test_prices_are_found_by_name_and_dated_name(model: str | None, known: bool) -> None:
    """A dated name has its family's price; a longer name is another model."""
    assert (price_of(model) is not None) == known


def test_cached_tokens_have_their_own_price() -> None:
    """1,000 tokens sent, 400 of them cached, 100 received, worked by hand."""
    price = price_of("gpt-4o-mini")
    assert price is not None
    usage = Usage(prompt_tokens=1000, cached_tokens=400, completion_tokens=100)

    assert price.cost_usd(usage) == pytest.approx(
        (600 * 0.15 + 400 * 0.075 + 100 * 0.60) / 1_000_000
    )


def test_a_users_prices_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file overrides and adds; a wrong one is one clear error."""
    table = {"as_of": "2026-11", "models": {"gpt-4o": {"prompt": 1.0, "completion": 2.0}}}
    Path("prices.json").write_text(json.dumps(table))
    monkeypatch.setenv("RAG_EVALS_PRICES", str(Path("prices.json").absolute()))
    price = price_of("gpt-4o")
    assert price is not None
    assert (price.prompt, price.cached, price.as_of) == (1.0, 1.0, "2026-11")
    assert price_of("gpt-4.1") is not None

    Path("bad.json").write_text("{}")
    monkeypatch.setenv("RAG_EVALS_PRICES", str(Path("bad.json").absolute()))
    with pytest.raises(ConfigurationError, match="price file .*bad.json.* cannot be used"):
        price_of("gpt-4o")


def test_each_grader_has_the_price_of_its_own_model() -> None:
    """Two models, one of them without a price: no total is claimed."""
    graders = [
        base.ContextEvaluation("Judge.", FaithfulnessResult, model=model, name=model)
        for model in ("gpt-4o", "my-own")
    ]

    assert estimate(make_plan(ROWS, graders, "openai/gpt-4.1")).cost_usd is None
    assert estimate(make_plan(ROWS, graders[:1], "openai/gpt-4.1")).cost_usd is not None


OWN = base.ContextEvaluation("Judge.", FaithfulnessResult, model="gpt-4.1", name="own")


def rows_file(count: int) -> str:
    """Write rows whose answer has an unusual name."""
    rows = ({"id": f"r{n}", "said": f"Tower {n} is tall.", "context": ["c"]} for n in range(count))
    Path("d.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return "d.jsonl"


def test_a_plan_knows_all_that_makes_two_runs_different(scripted: Start) -> None:
    """Data, judge, address, prompts, models, columns, limit and settings; a grader's model too."""
    judge = scripted(None)
    options: RunOptions = {"limit": 25, "columns": {"answer": "said"}, "settings": {"seed": 7}}
    plan = make_plan(rows_file(30), [OWN, "faithfulness"], "openai/gpt-4o-mini", options=options)
    settings = {"seed": 7, "temperature": 0}
    assert plan.checked is not None
    graders = {grader.name: grader.fingerprint() for grader in plan.graders}

    assert plan.identity == {
        "data": plan.checked.data_hash,
        "file": "d.jsonl",
        "judge": "openai/gpt-4o-mini",
        "address": judge.base_url,
        "graders": graders,
        "models": {"own": "gpt-4.1"},
        "columns": {"answer": "said"},
        "limit": 25,
        "settings": settings,
    }
    assert (plan.rows, plan.total, plan.manifest()["rows"]) == (25, 50, 25)
    assert plan.manifest()["columns"] == {"id": "id", "answer": "said", "context": "context"}
    asked = {**settings, "address": judge.base_url}
    assert [plan.asked_with(grader) for grader in plan.graders] == [
        *({**asked, "model": "gpt-4.1"}, asked),
    ]
    assert plan.fingerprints == {name: full[:16] for name, full in graders.items()}
    listed = make_plan(ROWS, ["faithfulness", "faithfulness_two_step"], "embedded")
    assert (listed.rows, listed.total, listed.manifest()["rows"]) == (3, 6, None)
    assert listed.identity["settings"] is listed.asked_with(listed.graders[0]) is None
    assert (listed.identity["data"], listed.identity["file"]) == ("rows", None)


def test_every_grader_needs_its_fields() -> None:
    """Those of a later one too."""
    options: RunOptions = {"columns": {"answer": "said"}}
    with pytest.raises(DataError, match="no column for 'reference'"):
        make_plan(rows_file(3), ["faithfulness", "answer_correctness"], "embedded", options=options)


def test_endpoints_of_graders_are_part_of_a_run(scripted: Start) -> None:
    """Each address once, whoever asks it, and prices of all are known."""
    judge = scripted(None)
    grader = TwoStepFaithfulness.with_verifier(LLMVerifier(endpoint="openai/gpt-4o"))
    plan = make_plan(ROWS, [grader, "faithfulness"], "openai/gpt-4o-mini")
    assert plan.identity["address"] == judge.base_url
    far = LLMVerifier(endpoint="ollama/m")
    two = make_plan(ROWS, TwoStepFaithfulness.with_verifier(far), "openai/gpt-4o-mini")
    first, and_, second = two.identity["address"].rpartition(" and ")
    assert (first, and_) == (judge.base_url, " and ")
    assert "11434" in second


USED = Usage(1, prompt_tokens=1_000_000, completion_tokens=100_000, cached_tokens=200_000)


@pytest.mark.parametrize(
    ("spent", "model", "batched", "cost"),
    [
        ([], None, False, {}),
        ([(None, None)], None, False, {"gpt-4o-mini": 1.0}),
        ([(None, None)], None, True, {"gpt-4o-mini": 0.5}),
        ([(None, "gpt-4.1")], None, False, {"gpt-4.1": 1.0}),
        ([(None, "gpt-4.1")], "gpt-4o", False, {"gpt-4o": 1.0}),
        ([(None, None), ("openai/gpt-4o", None)], None, False, {"gpt-4o-mini": 1, "gpt-4o": 1}),
        ([(None, None), ("openai/gpt-4o", None)], None, True, {"gpt-4o-mini": 0.5, "gpt-4o": 0.5}),
        ([(None, None), ("vllm/gpt-4o", None)], None, True, {"gpt-4o-mini": 0.5, "gpt-4o": 1.0}),
        ([("openai/gpt-4o", "gpt-4.1")], "gpt-4.1", False, {"gpt-4o": 1.0}),
        ([(None, None), (None, "my-own")], None, False, None),
        ([(None, None), ("openai/my-own", None)], None, False, None),
    ],
)
def test_a_grading_costs_what_each_of_its_judges_costs(
    spent: list[tuple[str | None, str | None]],
    model: str | None,
    batched: bool,
    cost: dict[str, float] | None,
) -> None:
    """By the price of the model that was asked; batches cost half; one unknown price is no sum."""
    plan = replace(make_plan(ROWS, "faithfulness", "openai/gpt-4o-mini"), model=model)
    plan, meter = replace(plan, batched=batched), Meter()
    for endpoint, asked in spent:
        meter.add(USED, endpoint=endpoint, model=asked)
    found = plan.cost_usd(plan.graders[0], meter)

    if cost is None:
        assert found is None
        return
    prices = {name: price_of(name) for name in cost}
    shares = [price.cost_usd(USED) * cost[name] for name, price in prices.items() if price]
    assert found == pytest.approx(sum(shares))
    assert len(shares) == len(cost)
    meter.add(replace(USED, uncounted=1))
    assert plan.cost_usd(plan.graders[0], meter) is None


def test_the_free_judge_of_a_sample_grades_all_rows_once() -> None:
    """In a folder of its own, with the same display; a budget's rows are those it pays for."""
    options: RunOptions = {"columns": {"answer": "said"}, "repeat": 2, "timeout": 5}
    sampled: RunOptions = {**options, "sampling": Sampling(budget=0.004)}
    data = rows_file(30)
    plan = make_plan(data, "faithfulness", "openai/gpt-4o-mini", options=sampled)
    free = make_plan(data, "faithfulness", "embedded", options={"columns": {"answer": "said"}})
    rows = plan.drawn or 0

    assert plan.free is not None
    assert plan.free.identity == free.identity
    assert 20 <= rows < 30
    assert (plan.total, plan.free.total, plan.budget) == (rows, 30, 0.004)
    assert plan.identity["sample"] == {
        "rows": rows,
        "of": 30,
        "probability": rows / 30,
        "seed": SEED,
    }
    budget = plan.policy(Summary())
    assert isinstance(budget, Budget)
    assert (budget.dollars, budget.graders, budget.drawn) == (0.004, 1, rows)
    into = plan.into("run", progress=True)
    assert into.free is not None
    assert (into.free.out, into.free.progress) == (Path("run/every-row"), True)
    nowhere = into.into()
    assert nowhere.free is not None
    assert (nowhere.out, nowhere.free.out, nowhere.free.progress) == (None, None, None)


def test_a_verifier_with_an_endpoint_is_no_free_judge(scripted: Start) -> None:
    """A sample of what it grades saves money, and needs a judge that is free."""
    scripted(None)
    grader = TwoStepFaithfulness.with_parts(
        extractor=SentenceExtractor(), verifier=LLMVerifier(endpoint="openai/m")
    )
    with pytest.raises(ConfigurationError, match="a grader calls 'openai/m' for every row"):
        make_plan(ROWS * 9, [grader], "embedded", options={"sampling": Sampling(20)})


def test_settings_of_an_own_client_are_those_of_a_run() -> None:
    """The temperature that the client was created with is sent, so 0 is not stored."""
    with openai.OpenAI(base_url="http://localhost:9/v1", api_key="k") as sdk:
        own = instructor.from_openai(sdk, model="m", temperature=1, seed=3)
        plan = make_plan(ROWS, ["faithfulness"], own, options={"settings": {"max_tokens": 9}})
        plain = make_plan(ROWS, ["faithfulness"], instructor.from_openai(sdk, model="m"))

    assert plan.identity["settings"] == {"max_tokens": 9}
    assert plain.identity["settings"] == {"temperature": 0}
