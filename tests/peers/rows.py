"""Which rows are graded by every tool, and what does the judge say? The same to each of them."""

from typing import Any, NamedTuple

from rag_evals.testing import Answer, JudgeRequest


class PeerRow(NamedTuple):
    """A row, and what a careful judge says of each statement: yes, no, or idk for unsaid."""

    question: str
    answer: str
    context: list[str]
    verdicts: dict[str, str]


ROWS = [
    PeerRow(
        "Where does the bridge stand?",
        "The bridge stands in Arlen. It was opened in 1931.",
        ["The bridge of Arlen was opened in 1931.", "Arlen has two mills."],
        {"The bridge stands in Arlen.": "yes", "It was opened in 1931.": "yes"},
    ),
    PeerRow(
        "Who built the mill?",
        "The mill was built by Ada Brook. It has four floors.",
        ["Ada Brook built the mill."],
        {"The mill was built by Ada Brook.": "yes", "It has four floors.": "idk"},
    ),
    PeerRow(
        "When does the ferry leave?",
        "The ferry leaves at nine. The ferry is free of charge.",
        ["The ferry leaves at seven.", "The ferry is free of charge."],
        {"The ferry leaves at nine.": "no", "The ferry is free of charge.": "yes"},
    ),
    PeerRow(
        "Сколько стоит билет?",
        "Билет стоит сорок рублей. Дети едут бесплатно.",
        ["Билет стоит сорок рублей. Детям до семи лет билет не нужен."],
        {"Билет стоит сорок рублей.": "yes", "Дети едут бесплатно.": "idk"},
    ),
    PeerRow("Are you there?", "Hello!", ["The ferry leaves at seven."], {}),
]


def same_judge(request: JudgeRequest) -> Answer:
    """Give each tool the verdicts of the row in the form that its schema asks for."""
    text = "\n".join(str(message["content"]) for message in request.messages)
    # Prompts have examples of their own; the row stands behind them.
    row = max(ROWS, key=lambda row: max(text.rfind(row.answer), text.rfind(first_of(row))))
    fields = request.schema.get("properties", {})
    if "truths" in fields:
        return {"truths": row.context}
    if "claims" in fields:
        return {"claims": list(row.verdicts)}
    if "verdicts" in fields:
        given = [{"verdict": borderline(one), "reason": "as given"} for one in verdicts_of(row)]
        return {"verdicts": given}
    if "reason" in fields and "statements" not in fields:
        return {"reason": "as given"}
    # ragas writes its schema into the prompt.
    shape = str(request.schema) if request.schema else text
    return {"statements": statements_for(row, shape)}


def first_of(row: PeerRow) -> str:
    """Return the first statement of a row; its question where it has none."""
    return next(iter(row.verdicts), row.question)


def verdicts_of(row: PeerRow) -> list[str]:
    """Return the verdicts, in the order of the statements."""
    return list(row.verdicts.values())


def borderline(verdict: str) -> str:
    """Write a verdict as deepeval's schema has it."""
    return "borderline" if verdict == "idk" else verdict


def statements_for(row: PeerRow, shape: str) -> list[Any]:
    """Write statements as the schema has them: texts, ragas' verdicts, or ours."""
    if "supporting_chunk_ids" in shape:
        return [
            {
                "statement": text,
                "reasoning": "as given",
                "supporting_chunk_ids": [0] if verdict == "yes" else [],
                "is_supported": verdict == "yes",
            }
            for text, verdict in row.verdicts.items()
        ]
    if "verdict" in shape:
        return [
            {"statement": text, "reason": "as given", "verdict": int(verdict == "yes")}
            for text, verdict in row.verdicts.items()
        ]
    return list(row.verdicts)
