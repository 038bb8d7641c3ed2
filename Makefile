# Two commands matter: `make demo` and `make test`. Each sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Written last, so that an install that was interrupted is started again.
READY := $(VENV)/ready-neural
READY_TEST := $(VENV)/ready-test

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench docs dataset lint clean

help:  ## List the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## */  make \1\t/' | expand -t 18

setup: $(READY_TEST)  ## Make .venv with xmtc and the tools to work on it

demo: $(READY)  ## Train on the data set that ships with xmtc and tag three texts
	@$(BIN)/xmtc demo

test: $(READY_TEST) lint  ## Run all tests but the slow ones
	@$(BIN)/python -m pytest -q -n 2 -m "not slow"

check: $(READY_TEST) lint  ## Run all tests, also the slow ones
	@$(BIN)/python -m pytest -q -n 2

lint: $(READY_TEST)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy --no-error-summary

bench: $(READY_TEST)  ## Run the benchmarks and append to benchmarks/records/ (needs XMTC_DATA)
	@$(BIN)/python -m benchmarks all

docs: $(READY_TEST)  ## Write the generated pages of docs/ anew
	@$(BIN)/python scripts/write_docs.py

dataset:  ## Build the data set that ships, from Debian's package lists (needs apt)
	@$(PYTHON) scripts/debian_dataset.py

clean:  ## Remove .venv and all caches
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "xmtc needs Python 3.10 or newer; run: make PYTHON=/path/to/python3.12")'
	@echo "Making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing xmtc and PyTorch (CPU) into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[neural]'
	@touch $@

$(READY_TEST): $(READY)
	@echo "Installing what the tests need into $(VENV)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
