# Every target sets up what it needs. A machine with Python 3.10 or newer, a Rust toolchain, gcc and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
# Tests start many processes: what one has compiled is compiled by no other.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: audit faults notices sanitize setup check rest format build-rust-tests lint-rust types lint-workflows sdist sdist-vendored wheel test test-rust check-stub test-arm test-python test-python-quick test-python-rest demo quality bench bench-ssdeep docs docs-serve docs-check fuzz newcomer clean

setup: $(VENV)/.built $(VENV)/.peers $(VENV)/.browser $(VENV)/.engines $(VENV)/.ssdeep $(VENV)/.chromium $(VENV)/.java

# $(call pip,ARGUMENTS): pip install, up to three times, because a registry may reset a connection.
pip = for attempt in 1 2 3; do \
		$(BIN)/python -m pip install --quiet $(1) && break; \
		[ $$attempt -lt 3 ] && sleep $$((5 * attempt)) || exit 1; \
	done

$(VENV)/.tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(call pip,--upgrade 'pip>=25.1' 'maturin~=1.9')
	@$(call pip,--group dev)
	@touch $@

# Optional groups: without one its tests are skipped.
# One after the other, also with `make -j2`: neither pip nor apt-get expects another one.
$(VENV)/.browser: | $(VENV)/.peers
$(VENV)/.engines: | $(VENV)/.browser
$(VENV)/.chromium: | $(VENV)/.ssdeep
$(VENV)/.java: | $(VENV)/.chromium
$(VENV)/.peers $(VENV)/.browser $(VENV)/.engines: $(VENV)/.tools
	@( $(call pip,--group $(@:$(VENV)/.%=%)) ) \
		|| echo "setup: the group $(@:$(VENV)/.%=%) could not be installed; its tests are skipped"
	@touch $@

# The program ssdeep, which tests run beside ours: installed where that asks nobody, else those tests are skipped.
$(VENV)/.ssdeep: $(VENV)/.tools
	@if command -v ssdeep >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		export DEBIAN_FRONTEND=noninteractive; \
		{ timeout 120 apt-get install -y -qq ssdeep \
			|| { timeout 120 apt-get update -qq && timeout 120 apt-get install -y -qq ssdeep; }; } >/dev/null 2>&1 \
			|| echo "setup: ssdeep could not be installed; tests beside it are skipped"; \
	else echo "setup: ssdeep is not installed (Debian: apt-get install ssdeep); tests beside it are skipped"; fi
	@touch $@

# The browser in which the page of the service is tested: in the same way.
$(VENV)/.chromium: $(VENV)/.tools
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		export DEBIAN_FRONTEND=noninteractive; \
		{ timeout 600 apt-get install -y -qq chromium \
			|| { timeout 120 apt-get update -qq && timeout 600 apt-get install -y -qq chromium; }; } >/dev/null 2>&1 \
			|| echo "setup: chromium could not be installed; tests of the service's page are skipped"; \
	else echo "setup: chromium is not installed (Debian: apt-get install chromium); tests of the service's page are skipped"; fi
	@touch $@

# Java, on which Spark runs: in the same way. Sail needs none.
$(VENV)/.java: $(VENV)/.tools
	@if command -v java >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		export DEBIAN_FRONTEND=noninteractive; \
		{ timeout 300 apt-get install -y -qq openjdk-17-jre-headless \
			|| { timeout 120 apt-get update -qq && timeout 300 apt-get install -y -qq openjdk-17-jre-headless; }; } >/dev/null 2>&1 \
			|| echo "setup: Java could not be installed; tests of Spark are skipped, those of Sail run"; \
	else echo "setup: Java is not installed (Debian: apt-get install openjdk-17-jre-headless); tests of Spark are skipped"; fi
	@touch $@

# An editable release build: Python files are used in place, Rust is compiled as for a wheel. The group `dev` has what it
# needs, so that it can be compiled while other groups are installed.
$(VENV)/.built: $(VENV)/.tools $(RUST) .cargo/config.toml
	CARGO_NET_RETRY=5 $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# What a change must pass while it is written, on a machine with nothing installed in at most 12 minutes: format, lint, types,
# and all tests of Python but those of engines, peers and browsers and those that take a second or more, with properties on
# fewer cases. A change of Rust also needs `make test-rust`: what it compiles takes as long as the module.
test: $(VENV)/.tools
	cargo fmt --all --check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python tools/prose.py
	$(MAKE) --no-print-directory -j2 $(VENV)/.built types
	$(MAKE) --no-print-directory -j2 test-python-quick check-stub

# Types are those of the stub, which needs no build.
types: $(VENV)/.tools
	$(BIN)/mypy

# The stub, compared with the module.
check-stub: $(VENV)/.built
	$(BIN)/python -m mypy.stubtest nearkin._core --mypy-config-file pyproject.toml

test-python-quick: $(VENV)/.built
	$(BIN)/python -m pytest -q --quick -n 2 --dist loadfile --no-loadscope-reorder

# What must pass on every commit: `make test`, then all that it leaves out, with engines, peers and a browser.
check: test rest

rest:
	$(MAKE) --no-print-directory -j3 setup build-rust-tests
	$(MAKE) --no-print-directory lint-workflows
	$(MAKE) --no-print-directory -j2 test-rust test-python-rest

test-python-rest: setup
	$(BIN)/python -m pytest -q --rest -n 2 --dist loadfile --no-loadscope-reorder

lint-rust:
	cargo clippy --quiet --all-targets -- -D warnings
	# The fuzz targets are compiled where they are compiled again: a build of their own takes as long as the rest.
	$(if $(CI),,cargo check --quiet --manifest-path fuzz/Cargo.toml --target-dir target)

# The recipes of continuous integration: by their schema, and by actionlint where it is installed.
lint-workflows: $(VENV)/.tools
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	if command -v actionlint >/dev/null; then actionlint; fi

# Licences, sources and known vulnerabilities of dependencies: crates by cargo-deny (cargo install cargo-deny), which reads
# deny.toml, and the packages of nearkin and its extras by pip-audit. Both ask the network for advisories, so this is no part
# of `check`. It fails if anything was not audited.
audit: setup
	@( $(call pip,--group audit) ) || echo "audit: pip-audit could not be installed"
	@status=0; \
	if command -v cargo-deny >/dev/null; then cargo deny --all-features check || status=1; \
	else echo "audit: cargo-deny is not installed (cargo install cargo-deny); crates were NOT checked"; status=2; fi; \
	$(BIN)/python tools/audit_packages.py || status=$$?; \
	exit $$status

# The source archive, in dist; `make sdist-vendored` adds all crates (dist/vendored), so that it builds without a network.
sdist: $(VENV)/.tools
	$(BIN)/python tools/make_notices.py --check
	$(BIN)/maturin sdist --out dist

sdist-vendored: sdist
	$(BIN)/python tools/vendor.py "$$(ls -t dist/*.tar.gz | head -n 1)" dist/vendored

# A wheel for this machine, in dist, with its compressed size; .github/workflows/wheels.yml builds those of all platforms.
wheel: $(VENV)/.tools
	$(BIN)/maturin build --quiet --release --locked --compression-level 9 --out dist
	@ls -t dist/*.whl | head -n 1 | xargs -I {} sh -c 'echo "{}: $$(($$(wc -c < {}) / 1000)) kB"'

# The notices of everything that the wheel carries, after a change of Cargo.lock.
notices: $(VENV)/.tools
	$(BIN)/python tools/make_notices.py

format: setup
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix --quiet .

# A machine that builds once has nothing to build on later.
build-rust-tests test-rust: export CARGO_INCREMENTAL := $(if $(CI),0,1)
# Nor does it print backtraces.
build-rust-tests test-rust: export CARGO_PROFILE_DEV_DEBUG := $(if $(CI),0,line-tables-only)
RUST_TESTS := cargo test --quiet -p nearkin-base -p nearkin-core -p nearkin-patterns --lib --tests
# While `setup` waits for downloads, and for the one core that optimises a crate.
build-rust-tests: lint-rust
	$(RUST_TESTS) --no-run

test-rust:
	$(RUST_TESTS)
	# rustdoc warns of job slots of make that it cannot use.
	MAKEFLAGS= cargo test --quiet -p nearkin-base -p nearkin-core -p nearkin-patterns --doc

# The kernels of the other architecture, under emulation. Needs its standard library, linker and emulator; Debian:
# dpkg --add-architecture arm64; apt-get install rustc-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu qemu-user
ARM_RUSTC ?= /usr/bin/rustc
# A property is tried on fewer cases: emulation is slow.
test-arm:
	RUSTC=$(ARM_RUSTC) CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
		CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64 \
		CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc CARGO_PROFILE_TEST_OPT_LEVEL=1 PROPTEST_CASES=8 \
		cargo test --quiet --lib -p nearkin-base -p nearkin-core -p nearkin-patterns --target aarch64-unknown-linux-gnu --target-dir target/arm

# All tests of Python, the longest files first (tests/conftest.py); `make test-python RECORD=--record-durations` notes how long
# each took, on a quiet machine.
RECORD ?=
test-python: setup
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder $(RECORD)

# What a newcomer does: the wheel in a fresh environment, then what README and guides say.
newcomer: setup
	rm -rf dist/newcomer && $(BIN)/maturin build --quiet --release --out dist/newcomer
	$(BIN)/python tests/newcomer.py dist/newcomer/*.whl

# The main job on the corpus that ships with the project; where nothing is set up yet, with what the job alone needs, compiled
# for a first look.
DEMO := $(if $(wildcard $(VENV)/.built),$(VENV),.venv-demo)
demo: $(DEMO)/.built
	$(DEMO)/bin/nearkin dedup samples/licences.jsonl.gz --out demo-out --id-column id --report --overwrite
	head -n 2 demo-out/clusters.jsonl
	@test $(DEMO) = $(VENV) || echo "compiled for a first look; a build by 'make setup' or pip install runs two to three times as fast"

.venv-demo/.built: pyproject.toml $(RUST)
	$(PYTHON) -m venv .venv-demo
	.venv-demo/bin/python -m pip install --quiet 'maturin>=1.9,<2'
	MATURIN_PEP517_ARGS='--profile quick --no-default-features' .venv-demo/bin/python -m pip install --quiet --no-build-isolation '.[report]'
	touch $@

# The site, in the folder site; a link or an anchor that leads nowhere is an error. `docs-serve` shows it while pages are
# written. It reads docstrings without running anything, so nothing is compiled.
docs: .venv-docs/.built
	PYTHONPATH=tools/site .venv-docs/bin/zensical build --strict --clean

docs-serve: .venv-docs/.built
	PYTHONPATH=tools/site .venv-docs/bin/zensical serve

.venv-docs/.built: pyproject.toml
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	.venv-docs/bin/python -m pip install --quiet --group docs
	touch $@

# Each page of the site in Chromium, on a wide and on a narrow window: links, pictures, requests, errors, width.
docs-check: docs $(VENV)/.chromium
	.venv-docs/bin/python tools/check_site.py

# Every attack in full: each fault of the file system for every saver, every flipped bit, signals, threads and writers at
# once for longer; five hundred kills of the service, a million calls of sixteen clients, ten minutes of mixed load.
faults: setup
	NEARKIN_EVERY=1 cargo test --quiet -p nearkin-core --test memory
	$(BIN)/python -m pytest -q tests/faults tests/index/test_altered_files.py tests/store/test_damage.py tests/store/test_processes.py \
		tests/service/test_abuse*.py tests/service/test_kill.py tests/service/test_linearizable.py \
		tests/service/test_mixed_load.py tests/service/test_schema.py tests/service/test_writers.py -m 'slow or not slow'

# Coverage-guided fuzzing of whatever reads untrusted bytes, under AddressSanitizer with debug assertions and overflow checks,
# a minute per target; needs cargo-fuzz (cargo install cargo-fuzz). TARGETS names some. Inputs are files of a temporary folder:
# one in memory is many times as fast. Of each allocation two calls are remembered, and 16 MB of what was freed are kept;
# stack frames are not moved to the heap, which is for C: references that outlive them do not compile.
SECONDS ?= 60
TARGETS ?= $$(RUSTC_BOOTSTRAP=1 cargo fuzz list)
fuzz: export ASAN_OPTIONS = detect_stack_use_after_return=0:malloc_context_size=2:quarantine_size_mb=16
fuzz: export RUSTC_BOOTSTRAP = 1
fuzz:
	cd fuzz && TMPDIR=$$(mktemp -d -p $(firstword $(wildcard /dev/shm) $(TMPDIR) /tmp)) && export TMPDIR && \
		trap 'rm -rf "$$TMPDIR"' EXIT && for target in $(TARGETS); do \
			mkdir -p corpus/$$target && cargo fuzz run $$target corpus/$$target seeds/$$target -- \
				-max_total_time=$(SECONDS) -detect_leaks=0 || exit 1; \
		done

# AddressSanitizer, debug assertions and overflow checks: the core's unit tests, then the whole suite over a binding built
# with them. Needs a nightly toolchain, gcc and libstdc++ on Linux; TESTS chooses tests, CASES how often a property of the core
# is tried.
NIGHTLY ?= nightly
TESTS ?= tests $(SANITIZED)/python/nearkin docs README.md
CASES ?= 64
SANITIZED := $(CURDIR)/target/sanitized
sanitize: HOST = $(shell rustc -vV | sed -n 's/^host: //p')
sanitize: export CARGO_TARGET_DIR = $(SANITIZED)
sanitize: export CARGO_PROFILE_RELEASE_LTO = off
sanitize: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 16
sanitize: export RUSTFLAGS = -Zsanitizer=address -Cdebug-assertions -Coverflow-checks=yes
# Python's allocator hides the bounds of its objects, and its objects outlive the process.
sanitize: export PYTHONMALLOC = malloc
sanitize: export ASAN_OPTIONS = detect_leaks=0:allocator_may_return_null=1:use_sigaltstack=0
# A module with debug assertions says at its import that it is slow.
sanitize: export PYTHONWARNINGS = ignore:this nearkin was built without optimisation:RuntimeWarning
sanitize: setup
	PROPTEST_CASES=$(CASES) cargo +$(NIGHTLY) test --quiet --lib -p nearkin-base -p nearkin-core -p nearkin-patterns --target $(HOST)
	cargo +$(NIGHTLY) build --quiet --release -p nearkin-module --target $(HOST)
	rm -rf $(SANITIZED)/python && mkdir -p $(SANITIZED)/python && cp -r python/nearkin $(SANITIZED)/python
	cp $(SANITIZED)/$(HOST)/release/lib_core.so $(SANITIZED)/python/nearkin/_core.abi3.so
	cp $$(rustc +$(NIGHTLY) --print sysroot)/lib/rustlib/$(HOST)/lib/librustc-*_rt.asan.a $(SANITIZED)/runtime.a
	ar d $(SANITIZED)/runtime.a asan_preinit.cpp.o
	# Exceptions of C++, which other packages throw, are looked for when the runtime starts.
	gcc -shared -o $(SANITIZED)/runtime.so -Wl,--whole-archive $(SANITIZED)/runtime.a -Wl,--no-whole-archive \
		-lpthread -ldl -lm -lrt -Wl,--no-as-needed -lstdc++
	PYTHONPATH=$(SANITIZED)/python LD_PRELOAD=$(SANITIZED)/runtime.so $(BIN)/python -m pytest -q \
		-p no:cacheprovider -W '$(PYTHONWARNINGS)' $(TESTS)

# Measures everything in docs/benchmarks.md and docs/quality.md again; each script also runs alone and has --help. DATA is
# the folder of the corpora.
DATA ?= ../shared/data
# CPU seconds would count the waiting threads of a BLAS library.
bench quality: export OPENBLAS_NUM_THREADS = 1
bench: quality .venv-pybind/.built .venv-spark-rivals/.built
	for name in text dedup words minhash hamming_search families vectors; do \
		$(BIN)/python bench/$$name.py --data $(DATA) || exit 1; \
	done
	$(MAKE) --no-print-directory bench-ssdeep

# The tables of docs/quality.md alone.
quality: setup .venv-text-dedup/.built
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python bench/quality.py --data $(DATA)

# The fuzzy hashes' peers are copyleft: they run beside nearkin here and nowhere else. They compile against Debian's
# libfuzzy-dev, and python-ssdeep asks for a setuptools of its time.
bench-ssdeep: setup
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get install -y -qq libfuzzy-dev >/dev/null; fi
	$(BIN)/python -m pip install --quiet 'setuptools<81' wheel cffi six
	$(BIN)/python -m pip install --quiet --no-build-isolation --group bench-ssdeep
	$(BIN)/python bench/ssdeep.py --digests $(DATA)/ssdeep_digests.txt.gz

# Peers that can't share an environment: one has simhash's import name, the other pins old versions and asks for Spark and
# a neural model, which its MinHash does not use.
.venv-pybind/.built:
	$(PYTHON) -m venv .venv-pybind
	.venv-pybind/bin/python -m pip install --quiet simhash-pybind==0.0.3 xxhash
	touch $@

.venv-spark-rivals/.built:
	$(PYTHON) -m venv .venv-spark-rivals
	.venv-spark-rivals/bin/python -m pip install --quiet 'datatrove[io,processing]==0.10.1' 'spacy>=3.8' daft==0.7.26 polars==2.1.0
	touch $@

.venv-text-dedup/.built:
	$(PYTHON) -m venv .venv-text-dedup
	.venv-text-dedup/bin/python -m pip install --quiet --no-deps text-dedup==0.4.0
	.venv-text-dedup/bin/python -m pip install --quiet datasets bitarray click click-option-group ftfy numpy scipy xxhash \
		tqdm rich regex pybloom_live
	touch $@

clean:
	rm -rf target fuzz/target $(VENV) .venv-demo .venv-docs .venv-pybind .venv-spark-rivals .venv-text-dedup site .cache demo-out
