"""What did a model write as plain text, and how likely was each of its tokens?"""

from pydantic import BaseModel, Field


class TextReply(BaseModel):
    """The reply to a call that asks for words and no schema; a `JudgeCall` names it as its model.

    Log-probabilities are there when the call's settings ask for them (`logprobs`, `top_logprobs`)
    and the endpoint has them.
    """

    text: str = Field(description="All that was written.")
    alternatives: list[list[tuple[str, float]]] = Field(
        default_factory=list,
        description="For each token, the likeliest ones in its place: text and log-probability.",
    )
