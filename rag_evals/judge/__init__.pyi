# Written by `python -m tools.generate` from the table in __init__.py.
from rag_evals.judge.ask import DEFAULT_OPTIONS as DEFAULT_OPTIONS
from rag_evals.judge.ask import DEFAULT_REASKS as DEFAULT_REASKS
from rag_evals.judge.ask import AskOptions as AskOptions
from rag_evals.judge.ask import AsyncJudge as AsyncJudge
from rag_evals.judge.ask import Judge as Judge
from rag_evals.judge.ask import Transport as Transport
from rag_evals.judge.ask import model_in as model_in
from rag_evals.judge.call_settings import wanted_settings as wanted_settings
from rag_evals.judge.clients import Client as Client
from rag_evals.judge.clients import address_of as address_of
from rag_evals.judge.clients import async_judge_for as async_judge_for
from rag_evals.judge.clients import endpoint_of as endpoint_of
from rag_evals.judge.clients import is_async as is_async
from rag_evals.judge.clients import judge_for as judge_for
from rag_evals.judge.clients import model_of as model_of
from rag_evals.judge.deadline import DEFAULT_TIMEOUT_SECONDS as DEFAULT_TIMEOUT_SECONDS
from rag_evals.judge.deadline import check_timeout as check_timeout
from rag_evals.judge.decisions import MOST_LEVELS as MOST_LEVELS
from rag_evals.judge.decisions import HostLimits as HostLimits
from rag_evals.judge.decisions import decision_limits as decision_limits
from rag_evals.judge.decisions import is_decision_model as is_decision_model
from rag_evals.judge.embeddings import embed_texts as embed_texts
from rag_evals.judge.endpoint import check_endpoint as check_endpoint
from rag_evals.judge.own_settings import client_settings as client_settings
from rag_evals.judge.prices import Price as Price
from rag_evals.judge.prices import price_of as price_of
from rag_evals.judge.providers import PROVIDERS as PROVIDERS
from rag_evals.judge.providers import read_endpoint as read_endpoint
from rag_evals.judge.raw_clients import as_instructor as as_instructor
from rag_evals.judge.repeated import AsyncRepeatedJudge as AsyncRepeatedJudge
from rag_evals.judge.repeated import RepeatedJudge as RepeatedJudge
from rag_evals.judge.session import LimitedJudge as LimitedJudge
from rag_evals.judge.session import SessionSettings as SessionSettings
from rag_evals.judge.session import judge_session as judge_session
from rag_evals.judge.wait_headers import DEFAULT_MAX_WAIT_SECONDS as DEFAULT_MAX_WAIT_SECONDS

__all__: list[str]
