# Every target sets up what it needs. A machine with Python 3.10 or newer, a Rust toolchain, gcc and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: setup check format test test-rust test-python demo bench docs fuzz clean

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

# The main job on the corpus that ships with the project.
demo: setup
	$(BIN)/nearkin dedup samples/licences.jsonl.gz --out demo-out --id-column id --overwrite
	head -n 2 demo-out/clusters.jsonl

docs: setup
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/mkdocs build --strict

# Coverage-guided fuzzing of whatever reads untrusted bytes, a minute a target; needs cargo-fuzz (cargo install cargo-fuzz).
SECONDS ?= 60
fuzz:
	for target in $$(cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz list); do \
		(cd fuzz && RUSTC_BOOTSTRAP=1 cargo fuzz run $$target -- -max_total_time=$(SECONDS)) || exit 1; \
	done

clean:
	rm -rf target fuzz/target $(VENV) site demo-out
