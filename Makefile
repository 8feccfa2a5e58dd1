# Everything one types. `make` alone lists it.
#
# Paths are relative throughout, so the checkout may lie in a folder with spaces in its name.

PYTHON ?= python3
CARGO_HOME ?= $(HOME)/.cargo
OUT ?= results

VENV := .venv
PY := $(VENV)/bin/python

# rustup's cargo may not be on PATH yet in the shell that installed it.
export PATH := $(CARGO_HOME)/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
# Another environment that happens to be active must not leak into ours.
unexport PYTHONHOME PYTHONPATH CONDA_PREFIX VIRTUAL_ENV

# On a continuous integration machine the lock file is law and a missing tool is a failure.
ifdef CI
LOCKED := --locked
endif

ifdef FULL
PRESET := --full
else
PRESET := --quick
endif

.PHONY: help site guest lab lab-module lab-beside kernel packetdrill test-kernel \
	test-kernel-later reproduce test test-rust test-wasm test-python test-slow test-part test-long test-programs \
	fuzz fuzz-readers test-supply bench wheel test-wheel locks clean \
	prerequisites FORCE

help:
	@echo "make reproduce     build, run every study with few replications, write $(OUT)/index.html"
	@echo "make reproduce FULL=1   the same with all replications"
	@echo "make test          every check of a few seconds at most: ten minutes"
	@echo "make test-slow     pages in a browser, programs of others, what is killed: half an hour"
	@echo "make test-part     a part of test-long: another one each day, PART=INDEX/COUNT"
	@echo "make test-long     the checks that take longer: statistics, faults put in, the wheel"
	@echo "make lab           the laboratory, a page that runs the simulator: $(OUT)/laboratory.html"
	@echo "make site          docs, course, reference, laboratory and the studies' pages: $(OUT)/site"
	@echo "make kernel        build the Linux kernel in virtual time, the second backend (two: HZ=1000, 250; VERSION=6.12)"
	@echo "make test-kernel   its checks"
	@echo "make bench         speed against other simulators (PEERS=1 installs those on PyPI)"
	@echo "make wheel         an optimised wheel in dist/; PGO=1 makes one that knows a profile"
	@echo "make test-wheel    build it, install it in an environment of its own, use it"
	@echo "make fuzz          inputs made by what the parsers do with them (TARGET=tc SECONDS=3600)"
	@echo "make test-supply   whether what we use of others is known to be bad"
	@echo "make locks         make the lock files again, after constraints.txt has changed"
	@echo "make clean         remove what was built; results stay"
	@echo "PYTHON=python3.12  another interpreter for a new environment"

# --- set-up ---------------------------------------------------------------------------------

prerequisites:
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "$(PYTHON) is not there: Python 3.11 or newer is needed (Debian: apt-get install" \
	    "python3 python3-venv), or name one: make reproduce PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" scripts/prerequisites.py

# What the lock files name and nothing else, if its files have the hashes that they name.
INSTALL := $(PY) -m pip install --quiet --require-hashes

$(VENV)/.runtime: locks/runtime.txt | prerequisites
	"$(PYTHON)" -m venv $(VENV)
	$(INSTALL) -r locks/runtime.txt
	@touch $@

$(VENV)/.test: $(VENV)/.runtime locks/test.txt
	$(INSTALL) -r locks/test.txt
	@touch $@

# Cargo knows itself how many cores there are, also where make runs two recipes at a time.
ALONE := env -u MAKEFLAGS -u MFLAGS

$(VENV)/.site: $(VENV)/.runtime locks/site.txt
	$(INSTALL) -r locks/site.txt
	@touch $@

# Of constraints.txt and pyproject.toml, after either has changed. Needs uv and the index.
locks: $(VENV)/.runtime
	@$(call step,$(PY) scripts/locks.py --write)

# The native module, built when a Rust source is newer than the last build.
CRATES := $(filter-out fuzz,$(patsubst %/Cargo.toml,%,$(wildcard */Cargo.toml)))
RUST_SOURCES := $(shell find $(CRATES:%=%/src) -name '*.rs' 2>/dev/null) \
	$(wildcard Cargo.toml Cargo.lock rust-toolchain.toml $(CRATES:%=%/Cargo.toml))

$(VENV)/.native: $(RUST_SOURCES) $(VENV)/.runtime | prerequisites
	$(ALONE) VIRTUAL_ENV="$(CURDIR)/$(VENV)" PIP_QUIET=1 $(PY) -m maturin develop --release $(LOCKED)
	@touch $@
ifeq ($(wildcard python/dumbbell/_engine*.so),)
$(VENV)/.native: FORCE
endif

# --- what it is for -------------------------------------------------------------------------

# The page is announced also when a claim of theory was contradicted (status 1), but not when it
# is left from an earlier run. The laboratory's module is compiled beside the native one, at first
# while packages are installed.
reproduce: | prerequisites
	@$(MAKE) --no-print-directory -j2 $(VENV)/.native lab-beside
	@touch $(VENV)/.reproducing; status=0; \
	  $(VENV)/bin/dumbbell reproduce all $(PRESET) --out "$(OUT)" || status=$$?; \
	  if [ "$(OUT)/index.html" -nt $(VENV)/.reproducing ]; then $(PY) -c \
	    'import pathlib, sys; print("\nThe page:", pathlib.Path(sys.argv[1]).resolve().as_uri())' \
	    "$(OUT)/index.html"; \
	    if $(HAS_WASM) 2>/dev/null; then $(MAKE) --no-print-directory lab; \
	    else echo "SKIPPED: the laboratory, a page that runs the simulator." \
	      "rustup target add $(WASM), then make lab"; fi; fi; exit $$status

# The simulator as a page runs it. It lies in the package, where an installed wheel has it too.
LAB_MODULE := python/dumbbell/lab/engine.wasm
LAB_BUILT = $${CARGO_TARGET_DIR:-target}/$(WASM)/lab/dumbbell_lab.wasm
LAB_INSTALL = cmp -s "$(LAB_BUILT)" $(LAB_MODULE) || install -m 644 "$(LAB_BUILT)" $(LAB_MODULE)
LAB_BUILD = cargo build $(LOCKED) --profile lab -p dumbbell-lab --target $(WASM)
HAS_WASM = test -d "$$($(ALONE) rustc --print target-libdir --target $(WASM))"
lab-module: | prerequisites
	@$(HAS_WASM) 2>/dev/null || { \
	  echo "the Rust target $(WASM) is not installed: rustup target add $(WASM)" >&2; exit 1; }
	@$(call step,$(LAB_BUILD))
	@$(LAB_INSTALL)

# In time for the studies' live figures; what is wrong is said when the laboratory's turn comes.
lab-beside: | prerequisites
	@if $(HAS_WASM) 2>/dev/null && $(ALONE) nice $(LAB_BUILD) --quiet 2>/dev/null; then \
	  $(LAB_INSTALL); fi

lab: lab-module $(VENV)/.native
	@$(VENV)/bin/dumbbell lab --no-open --output "$(OUT)/laboratory.html"

# Of what `make reproduce` and `make lab` left in $(OUT) the site has what is there.
site: $(VENV)/.site $(VENV)/.native
	@$(call step,$(PY) website/build.py --results "$(OUT)" --output "$(OUT)/site" --url "$(SITE_URL)")

# --- checks ---------------------------------------------------------------------------------

# $(call step,command): print it, run it.
step = echo '+ $(1)'; $(1)
# $(call optional,tool,how to get it,probe,command): a check whose tool may not be installed.
optional = if $(3) >/dev/null 2>&1; then $(call step,$(4)); \
	elif [ -n "$$CI" ]; then echo "missing: $(1). $(2)" >&2; exit 1; \
	else echo "SKIPPED: $(1) is not installed. $(2)"; fi

PURE := --workspace --exclude dumbbell-bindings
WASM := wasm32-unknown-unknown
PYTHON_FILES := python tests scripts bench website $(wildcard examples)

test: test-rust test-wasm test-python
	@echo "make test: all checks passed"

# The bindings are compiled against the environment's interpreter.
test-rust test-long: export PYO3_PYTHON = $(CURDIR)/$(PY)

# The properties are tried on the same inputs each time, so that a test that passed does not fail where nothing
# was changed. Other inputs are searched by `make test-long`, which draws a new seed.
test-rust: export PROPTEST_RNG_SEED = 2026

test-rust: $(VENV)/.runtime
	@$(call optional,rustfmt,rustup component add rustfmt,cargo fmt --version,cargo fmt --all --check)
	@$(call optional,rustfmt,rustup component add rustfmt,cargo fmt --version,cargo fmt --manifest-path bench/rust/Cargo.toml --check)
	@$(call optional,clippy,rustup component add clippy,cargo clippy --version,cargo clippy $(LOCKED) --workspace --all-targets --all-features -- -D warnings)
	@$(call optional,clippy,rustup component add clippy,cargo clippy --version,cargo clippy $(LOCKED) --manifest-path bench/rust/Cargo.toml --target-dir target -- -D warnings)
	@$(call step,cargo test $(LOCKED) $(PURE) --all-features)

# The engine is pure: it compiles where there is no operating system, and pages run it.
test-wasm: | prerequisites
	@$(call optional,the Rust target $(WASM),rustup target add $(WASM),$(HAS_WASM),$(MAKE) --no-print-directory lab-module)

# The guest is what holds a kernel to its files: the launcher's tests need it.
test-python: $(VENV)/.test $(VENV)/.native
	@$(call step,cargo build $(LOCKED) $(PURE) --all-features --bin dumbbell-guest)
	@$(call step,$(PY) -m ruff check $(PYTHON_FILES))
	@$(call step,$(PY) -m ruff format --check $(PYTHON_FILES))
	@$(call step,$(PY) -m mypy)
	@$(call step,$(PY) -m mypy --ignore-missing-imports bench scripts)
	@$(call step,$(PY) -m mypy website/build.py website/roles.py)
	@$(call step,$(PY) -m mypy.stubtest dumbbell._engine --mypy-config-file pyproject.toml)
	@$(call step,$(VENV)/bin/lint-imports)
	@$(call step,$(PY) -m pytest -n auto --dist loadfile -m "not long and not slow and not kernel" tests scripts bench $(PYTEST_ARGS))

# SHARE=INDEX/COUNT runs that share of the tests alone, chosen by their names: `.ci/run` does a third
# of test-slow and test-kernel, by the day of the commit, so that it ends within an hour.
SHARED = $(if $(SHARE),--part $(SHARE))

# Pages in Chromium, programs of others, processes that are killed, and what else takes four seconds.
test-slow: $(VENV)/.test $(VENV)/.native
	@$(call step,cargo build $(LOCKED) $(PURE) --all-features --bin dumbbell-guest)
	@$(call step,$(PY) -m pytest -n auto --dist loadfile -m "slow and not long and not kernel" $(SHARED) tests scripts bench $(PYTEST_ARGS))

# A part of test-long's Python, another one each day: who runs it daily has run all in two weeks.
# PART=INDEX/COUNT, of which INDEX counts days.
PART ?= $(shell expr $$(date +%s) / 86400)/14
test-part: $(VENV)/.test $(VENV)/.native guest
	@$(call step,$(PY) -m pytest -n auto --dist loadfile --part $(PART) -m "long" tests scripts bench $(PYTEST_ARGS))

test-long: $(VENV)/.test $(VENV)/.native
	@$(call step,cargo test $(LOCKED) $(PURE) --all-features --release -- --include-ignored)
	@$(call step,$(PY) -m pytest -n auto --dist loadfile -m "long and not kernel" tests scripts bench $(PYTEST_ARGS))
	@if [ -n "$$CI" ] || $(VENV)/bin/dumbbell kernel info >/dev/null 2>&1; then \
	  $(call step,$(PY) -m pytest -m "long and kernel" tests $(PYTEST_ARGS)); \
	else echo "SKIPPED: what needs the kernel in virtual time, which is not built. make kernel"; fi
	@if [ -e /usr/src/linux-source-$(LATER).tar.xz ]; then \
	  $(MAKE) --no-print-directory kernel VERSION=$(LATER) test-kernel-later; \
	elif [ -n "$$CI" ]; then echo "missing: Linux $(LATER). apt-get install linux-source-$(LATER)" >&2; exit 1; \
	else echo "SKIPPED: Linux $(LATER) is not installed. apt-get install linux-source-$(LATER)"; fi
	@$(call optional,a C++ compiler,apt-get install g++,c++ --version,$(MAKE) --no-print-directory fuzz SECONDS=60)
	@$(call optional,atheris,$(PY) -m pip install atheris,$(PY) -c "import atheris",$(MAKE) --no-print-directory fuzz-readers SECONDS=60)
	@$(MAKE) --no-print-directory test-supply
	@$(MAKE) --no-print-directory test-wheel

# What we have of others, as far as it is known to be bad: the lists are fetched. Hashes, licences and
# sources are looked at in `make test` as well (scripts/test_supply.py).
test-supply: $(VENV)/.runtime
	@$(call optional,cargo-deny,cargo install --locked cargo-deny,cargo deny --version,cargo deny --locked check)
	@$(call optional,pip-audit,pipx install pip-audit,pip-audit --version,pip-audit --require-hashes --disable-pip -r locks/test.txt)

# Inputs that libFuzzer makes by what the parsers and readers do with them: docs/fuzzing.md. What it
# finds new is kept in fuzz/found, and begins the next search.
FUZZ_TARGETS := description tc packetdrill pcap pcapng
FUZZ_FLAGS := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing
# Build scripts and macros of the compiler's own are not instrumented where a system is named.
FUZZ_HOST = $$(rustc -vV | sed -n 's/^host: //p')
FUZZ_BUILD = RUSTFLAGS="$(FUZZ_FLAGS)" cargo build $(LOCKED) --quiet --release --target "$(FUZZ_HOST)" --manifest-path fuzz/libfuzzer/Cargo.toml
fuzz: | prerequisites
	@$(ALONE) $(FUZZ_BUILD)
	@for target in $(or $(TARGET),$(FUZZ_TARGETS)); do \
	  mkdir -p "fuzz/found/$$target"; \
	  echo "+ fuzz $$target, $(or $(SECONDS),60) s"; \
	  DUMBBELL_FUZZ_TARGET=$$target "$${CARGO_TARGET_DIR:-fuzz/libfuzzer/target}/$(FUZZ_HOST)/release/dumbbell-libfuzzer" \
	    -max_total_time=$(or $(SECONDS),60) -timeout=20 -rss_limit_mb=2048 -max_len=8192 \
	    -print_final_stats=1 -verbosity=1 -artifact_prefix="fuzz/found/$$target-" \
	    "fuzz/found/$$target" "fuzz/corpus/$$target" 2> "fuzz/found/$$target.log" \
	    || { tail -n 40 "fuzz/found/$$target.log" >&2; exit 1; }; \
	  grep -E "stat::(number_of_executed_units|new_units_added|peak_rss_mb)" "fuzz/found/$$target.log"; \
	done

# The same for readers in Python, by Atheris.
fuzz-readers: $(VENV)/.native
	@for target in $(or $(TARGET),flent logs); do \
	  $(call step,$(PY) scripts/fuzz_readers.py $$target $(or $(SECONDS),60)) || exit 1; \
	done

# Those that start programs by their paths, also in a kernel where it is built. The guest has to be
# there, or named by DUMBBELL_GUEST.
test-programs: $(VENV)/.test $(VENV)/.native
	@$(call step,$(PY) -m pytest -n auto --dist loadfile -m "programs and not long" tests scripts $(PYTEST_ARGS))

# What runs inside the kernel in virtual time.
guest: $(VENV)/.native
	@$(call step,cargo build $(LOCKED) --release -p dumbbell-guest)

# Those that the studies need, or the one that is named: built once a machine (about five minutes
# of CPU time each) and kept in the cache folder. VERSION=6.12 is the later Linux.
kernel: guest
	@for hz in $(or $(HZ),$(if $(VERSION),1000,1000 250)); do \
	  $(call step,$(VENV)/bin/dumbbell kernel build --version $(or $(VERSION),6.1) --hz $$hz) || exit 1; \
	done

# GPL-2.0, of a checkout that you name; kept in your cache, never part of dumbbell.
packetdrill: $(VENV)/.native
	@if [ -z "$(PACKETDRILL_SOURCE)" ]; then \
	  echo "name a checkout: make packetdrill PACKETDRILL_SOURCE=DIR" >&2; exit 1; fi
	@$(call step,$(VENV)/bin/dumbbell packetdrill --build "$(PACKETDRILL_SOURCE)")

# Continuous integration builds what is not cached: the usual kernel, and the one that ticks as the
# testbeds' did. A user is told how to, and what needs the second kernel is skipped without it.
# What continuous integration runs must not depend on what a machine's cache happens to hold.
test-kernel: $(VENV)/.test guest
	@for hz in 1000 250; do \
	  if $(VENV)/bin/dumbbell kernel info --hz $$hz >/dev/null 2>&1; then :; \
	  elif [ -n "$$CI" ]; then echo "+ dumbbell kernel build --hz $$hz"; \
	    $(VENV)/bin/dumbbell kernel build --hz $$hz || exit 1; \
	  elif [ $$hz = 1000 ]; then \
	    echo "SKIPPED: the kernel in virtual time is not built. make kernel"; exit 0; \
	  else echo "SKIPPED: what needs a kernel with $$hz ticks a second. make kernel HZ=$$hz"; fi; \
	done; \
	$(call step,DUMBBELL_REQUIRE_KERNEL=1 $(PY) -m pytest -n auto --dist loadfile -m "kernel and not long" $(SHARED) tests bench $(PYTEST_ARGS)); \
	if [ -n "$$CI" ]; then echo "the same on Linux $(LATER): make test-long"; \
	elif $(VENV)/bin/dumbbell kernel info --version $(LATER) >/dev/null 2>&1; then \
	  $(MAKE) --no-print-directory test-kernel-later; \
	else echo "SKIPPED: the same on Linux $(LATER), which is not built. make kernel VERSION=$(LATER)"; fi

# The tests of the kernel again, on the later Linux. Seven minutes of two processors.
LATER := 6.12
test-kernel-later: $(VENV)/.test guest
	@$(call step,DUMBBELL_TEST_KERNEL=$(LATER) DUMBBELL_REQUIRE_KERNEL=1 $(PY) -m pytest -n auto --dist loadfile -m "kernel and not long" tests/kernel tests/kernel_backend $(PYTEST_ARGS))

# --- speed ----------------------------------------------------------------------------------

# PGO=1: our programs are built as a wheel with PGO=1 is.
ifdef PGO
bench: export BENCH_PROFILE := $(CURDIR)/bench/build/profile.profdata
endif
bench: guest
ifdef PEERS
	"$(PYTHON)" -m venv bench/.venv
	bench/.venv/bin/python -m pip install --quiet -r bench/peers/requirements.txt
endif
ifdef PGO
	$(PY) bench/profiled.py
endif
	$(PY) bench/run.py $(BENCH_ARGS)
	$(PY) bench/tcp.py $(BENCH_ARGS)
	$(PY) bench/rrul.py $(BENCH_ARGS)
	$(PY) bench/captures.py $(BENCH_ARGS)
	$(PY) bench/memory.py $(BENCH_ARGS)
	$(PY) bench/store.py $(BENCH_ARGS)
	$(PY) bench/executors.py $(BENCH_ARGS)
	$(PY) bench/lab.py $(BENCH_ARGS)
	$(PY) bench/linux_controllers.py $(BENCH_ARGS)
	$(PY) bench/controllers.py $(BENCH_ARGS)
	$(PY) bench/learning.py $(BENCH_ARGS)
	$(PY) bench/virtual_kernel.py $(BENCH_ARGS)
	$(PY) bench/kernel_beside.py $(BENCH_ARGS)

# --- the rest -------------------------------------------------------------------------------

# With the guest inside, so that an installed wheel runs the kernel in virtual time. A checkout uses
# the guest that cargo built: none may stay between its files.
# The kernel, and so the guest, is for Linux on x86-64 alone.
GUEST_IN_WHEEL := python/dumbbell/backends/kernel/dumbbell-guest
# PGO=1: built twice, the second time by a profile of the runs of scripts/preset_digests.py.
PROFDATA = $$(rustc --print target-libdir)/../bin/llvm-profdata
# What is compiled into it (PEP 770).
SBOM := dumbbell.cdx.json
wheel: $(VENV)/.runtime
	@if [ -n "$(PGO)" ] && ! [ -x "$(PROFDATA)" ]; then \
	  echo "PGO=1 needs the compiler's llvm-tools: rustup component add llvm-tools" >&2; exit 1; fi
	@trap 'rm -f $(GUEST_IN_WHEEL)' EXIT; \
	if [ "$$(uname -sm)" = "Linux x86_64" ]; then \
	  $(call step,cargo build $(LOCKED) --profile dist -p dumbbell-guest) && \
	  install -m 755 "$${CARGO_TARGET_DIR:-target}/dist/dumbbell-guest" $(GUEST_IN_WHEEL) && \
	  strip $(GUEST_IN_WHEEL) || exit 1; \
	fi; \
	if $(HAS_WASM) 2>/dev/null; then $(MAKE) --no-print-directory lab-module || exit 1; \
	else rm -f $(LAB_MODULE); echo "without the laboratory: rustup target add $(WASM)"; fi; \
	$(PY) scripts/sbom.py target/$(SBOM) || exit 1; \
	$(call step,$(PY) -m maturin build --profile dist $(LOCKED) $(if $(PGO),--pgo) --sbom-include target/$(SBOM) --out dist)

test-wheel: wheel
	@$(call step,"$(PYTHON)" scripts/check_wheel.py dist)

clean:
	rm -rf $(VENV) target dist bench/.venv bench/build bench/rust/target fuzz/libfuzzer/target
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -f python/dumbbell/_engine*.so
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
