# The public names: `rag_evals.lazy_names` and type checkers read them here.
from rag_evals.verify.cascade import CascadeVerifier as CascadeVerifier
from rag_evals.verify.classifier import HHEM as HHEM
from rag_evals.verify.classifier import ClassifierVerifier as ClassifierVerifier
from rag_evals.verify.decisions import DecisionVerifier as DecisionVerifier
from rag_evals.verify.judge_string import EMBEDDED as EMBEDDED
from rag_evals.verify.judge_string import EMBEDDED_GRADERS as EMBEDDED_GRADERS
from rag_evals.verify.judge_string import read_judge as read_judge
from rag_evals.verify.judge_string import verifier_from_string as verifier_from_string
from rag_evals.verify.llm import LLMVerifier as LLMVerifier
from rag_evals.verify.tuned import AgreementFigures as AgreementFigures
from rag_evals.verify.tuned import Confidence as Confidence
from rag_evals.verify.tuned import Promise as Promise
from rag_evals.verify.tuned import Tuned as Tuned
from rag_evals.verify.tuned import TunedVerifier as TunedVerifier
from rag_evals.verify.tuned import Tuning as Tuning
from rag_evals.verify.tuned import read_signals as read_signals
from rag_evals.verify.tuned import read_tunings as read_tunings
from rag_evals.verify.tuned import sureness as sureness

__all__: list[str]
