# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.judge.clients.build import endpoint_of as endpoint_of
from rag_evals.judge.clients.build import judge_for as judge_for
from rag_evals.judge.clients.build import model_of as model_of
from rag_evals.judge.clients.decisions import DecisionCall as DecisionCall
from rag_evals.judge.clients.sdks import Client as Client
from rag_evals.judge.clients.sdks import as_instructor as as_instructor
from rag_evals.judge.pace.row_time import DEFAULT_TIMEOUT_SECONDS as DEFAULT_TIMEOUT_SECONDS
from rag_evals.judge.wire.ask import DEFAULT_REASKS as DEFAULT_REASKS
from rag_evals.judge.wire.ask import AskOptions as AskOptions
from rag_evals.judge.wire.ask import AsyncJudge as AsyncJudge
from rag_evals.judge.wire.ask import model_in as model_in
from rag_evals.judge.wire.ask import wanted_settings as wanted_settings

__all__: list[str]
