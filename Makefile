# Every target sets up what it needs. A machine with Python 3.10 or newer, a Rust toolchain, gcc and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: setup check format lint types test test-rust test-python demo bench docs fuzz clean

setup: $(VENV)/.built

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' 'maturin>=1.9,<2'
	$(BIN)/python -m pip install --quiet --group dev
	touch $@

# An editable release build: Python files are used in place, Rust is compiled.
$(VENV)/.built: $(VENV)/.tools $(RUST)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $@

# Format, lint, types, tests, docs' examples: what must pass on every commit.
check: setup
	cargo fmt --all --check
	$(BIN)/ruff format --check .
	cargo clippy --quiet --all-targets -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(MAKE) --no-print-directory test

format: setup
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --quiet .

test: test-rust test-python

test-rust:
	cargo test --quiet -p nearkin-core

test-python: setup
	$(BIN)/python -m pytest -q

clean:
	rm -rf target fuzz/target $(VENV) site demo-out
