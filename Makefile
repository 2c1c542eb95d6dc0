PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

DOCS := .venv/.docs

.PHONY: setup lint test demo adoption docs reference

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

# The site, in site/: its own packages, strictly built, then every link, anchor and address in it looked at.
docs: $(DOCS) reference
	$(BIN)/zensical build --strict --clean
	$(BIN)/python -m reference.site site

$(DOCS): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

# The pages of docs/reference, made anew from the code.
reference: setup
	$(BIN)/python -m reference

# The real Claude Code, Codex, inspector, conformance suite, server-memory, mem0, LlamaIndex and PydanticAI over MCP; each test says which variable names its program.
adoption: setup
	$(BIN)/python -m pytest -q -rs tests/peers/test_mcp_node.py tests/peers/test_claude_code.py tests/peers/test_codex.py tests/peers/test_mem0.py tests/peers/test_llama_index.py tests/peers/test_pydantic_mcp.py
