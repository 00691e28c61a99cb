# Every target makes or refreshes .venv by itself; `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test test-slow test-data test-oldest test-integrations attack docs lint format bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --editable '.[all,dev]'
	touch $(STAMP)

demo: $(STAMP)  ## classify and regress on one sphere, and draw it (about two minutes)
	$(BIN)/hyperproto demo

test: $(STAMP)  ## lint, types and tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: $(STAMP)  ## the tests that take minutes
	$(BIN)/python -m pytest -m slow

test-data: $(STAMP)  ## the readers on the publishers' own files, below $HYPERPROTO_DATA
	@test -n "$$HYPERPROTO_DATA" || { echo "Set HYPERPROTO_DATA to the folder that holds the data sets."; exit 2; }
	$(BIN)/python -m pytest -m real_data

test-oldest:  ## the core with the lower bounds of all but torch, in an environment of its own (.venv-oldest)
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	$(PYTHON) tools/oldest.py > .venv-oldest/bounds.txt
	PIP_CONSTRAINT=$(CURDIR)/.venv-oldest/bounds.txt .venv-oldest/bin/python -m pip install --quiet --editable '.[export,serve]' pytest hypothesis httpx2
	.venv-oldest/bin/python -m pytest -m "not slow" $(addprefix tests/,codes core data losses metrics prototypes runtime serve spaces sphere)

test-integrations:  ## Lightning, Trainer, skorch and others, in an environment of their own (.venv-integrations)
	test -x .venv-integrations/bin/python || $(PYTHON) -m venv .venv-integrations
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt .venv-integrations/bin/python -m pip install --quiet --editable '.[integrations]'
	.venv-integrations/bin/python -m pytest tests/integrations

docs: $(STAMP)  ## the documentation as a site, in site/
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --quiet --editable '.[docs]'
	$(BIN)/python tools/docs_commands.py
	$(BIN)/zensical build --clean --strict

attack: $(STAMP)  ## damage N=1000 files of every kind, kill KILLS=50 writers, and count what happens (SEED=0)
	$(BIN)/python -m tests.attack -n $(or $(N),1000) --kills $(or $(KILLS),50) --seed $(or $(SEED),0)

lint: $(STAMP)  ## lint and types only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)  ## put the code into its format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## measure speed and accuracy against named peers
	$(BIN)/python -m benchmarks

clean:  ## remove what the targets made
	rm -rf $(VENV) .venv-integrations .venv-oldest site build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
