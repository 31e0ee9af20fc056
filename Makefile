# make demo    train on the built-in digits, print what came of it, draw a picture
# make check   everything that CI runs
# make bench   measure speed (on an idle machine)
# make venv    only install
# Each sets up .venv by itself; nothing but Python 3.11 or newer and make is needed.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: venv demo check bench format clean

venv: .venv/installed

.venv/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

.venv/installed-dev: .venv/installed
	$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: .venv/installed
	$(BIN)/boltzflow train digits --out demo --overwrite

check: .venv/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -n 2
	$(BIN)/python -m pytest --doctest-modules src -p no:cacheprovider
	$(BIN)/python tools/check_wheel.py

bench: .venv/installed-dev
	$(BIN)/python benchmarks/epochs.py --peers
	$(BIN)/python benchmarks/deep.py

format: .venv/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv build dist demo
