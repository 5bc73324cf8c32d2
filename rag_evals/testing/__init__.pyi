# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.testing.scripted import HttpError as HttpError
from rag_evals.testing.scripted import JudgeRequest as JudgeRequest
from rag_evals.testing.scripted import Raw as Raw
from rag_evals.testing.scripted import Reply as Reply
from rag_evals.testing.scripted import Reset as Reset
from rag_evals.testing.scripted import Script as Script
from rag_evals.testing.scripted import ScriptedJudge as ScriptedJudge
from rag_evals.testing.scripted import Stall as Stall
from rag_evals.testing.scripted import Wire as Wire

__all__: list[str]
