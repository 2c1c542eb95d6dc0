PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: setup lint test demo

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/mypy src

test: lint
	$(BIN)/python -m pytest -q -n 2

demo: setup
	$(BIN)/python -m examples.demo
