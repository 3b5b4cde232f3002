# The two commands are `make demo` and `make check`. Both install what is
# missing (Debian 12), build into build/ and put the programs into build/bin.

BUILD ?= build
JOBS ?= $(shell nproc)
SANITIZE_BUILD = build-sanitize
PYTHON = $(BUILD)/venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help demo check build configure dependencies venv bench bundle wheel docs install \
        format check-format sanitize clean

help:
	@echo "make demo          compile, run and verify every file in examples/"
	@echo "make check         run all tests; the last line says N passed, N failed"
	@echo "make build         build into $(BUILD)/, programs in $(BUILD)/bin"
	@echo "                   (an edit builds again faster after cmake --preset develop -B $(BUILD))"
	@echo "make bench         run benchmarks/ (ratios; takes several minutes; installs"
	@echo "                   PyTorch; BENCH_OPTIONS='--threads 2' and others of run.py)"
	@echo "make bundle        one folder that runs without LLVM, $(BUILD)/bundle"
	@echo "make wheel         a Python wheel, $(BUILD)/wheel, tried with numpy alone (installs"
	@echo "                   its tools and scikit-build-core from PyPI)"
	@echo "make docs          generate the pages of docs/Reference"
	@echo "make install       install the CMake and Python packages and tools"
	@echo "                   (PREFIX=/usr/local)"
	@echo "make format        format the C++ sources"
	@echo "make check-format  check the format of C++ sources and MLIR examples"
	@echo "make sanitize      build with ASan and UBSan and run the lit suite"
	@echo "make clean         remove the build folders"
	@echo "JOBS=N             at most N compilers at once (one for each core)"

# Only what the demonstration runs; the tests build the rest.
demo: configure venv
	@NINJA_STATUS='building fa-run, step %f of %t, %e s: ' cmake --build $(BUILD) -j $(JOBS) --target fa-run
	@$(PYTHON) scripts/demo.py --build $(BUILD)

# The summary line must come even when the tests cannot be built. Packages are
# fetched while compilers run.
check:
	@$(MAKE) --no-print-directory --jobs=2 build $(BUILD)/venv/requirements-check.txt || \
	  { echo "the build failed or packages of tests are missing, no test was run"; echo "0 passed, 1 failed"; exit 1; }
	@$(PYTHON) scripts/check.py --build $(BUILD)

build: configure venv
	@cmake --build $(BUILD) -j $(JOBS)

configure: dependencies
	@test -f $(BUILD)/build.ninja || cmake --preset default -B $(BUILD)

dependencies:
	@scripts/install-dependencies.sh

venv: $(BUILD)/venv/requirements.txt

$(BUILD)/venv/requirements.txt: scripts/requirements.txt | dependencies
	@echo "creating the Python environment $(BUILD)/venv"
	@python3 -m venv $(BUILD)/venv
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -r $<
	@cp $< $@

# Front ends, which the demonstration does without.
$(BUILD)/venv/requirements-check.txt: scripts/requirements-check.txt $(BUILD)/venv/requirements.txt
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -r $<
	@cp $< $@

bench: build $(BUILD)/venv-bench/requirements.txt
	@$(BUILD)/venv-bench/bin/python benchmarks/run.py --build $(BUILD) $(BENCH_OPTIONS)

# PyTorch is large and no test needs it: benchmarks have an environment of their own.
$(BUILD)/venv-bench/requirements.txt: benchmarks/requirements.txt scripts/requirements.txt | dependencies
	@echo "creating the Python environment $(BUILD)/venv-bench, with PyTorch"
	@python3 -m venv $(BUILD)/venv-bench
	@$(BUILD)/venv-bench/bin/python -m pip install --quiet --disable-pip-version-check \
	  $(patsubst %,-r %,$(filter %.txt,$^))
	@cp $< $@

bundle: build
	@$(PYTHON) scripts/make_bundle.py --build $(BUILD) --output $(BUILD)/bundle/fa-mlir --archive

wheel: configure venv
	@cmake --build $(BUILD) -j $(JOBS) --target FAShared FATorchShared FAJAXShared
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check -r scripts/requirements-wheel.txt
	@$(PYTHON) scripts/make_wheel.py --build $(BUILD) --output $(BUILD)/wheel

docs: configure
	@cmake --build $(BUILD) -j $(JOBS) --target fa-doc

PREFIX ?= /usr/local
install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

format: dependencies
	@python3 scripts/check_format.py --fix

check-format: dependencies
	@python3 scripts/check_format.py

sanitize: dependencies venv
	@test -f $(SANITIZE_BUILD)/build.ninja || \
	  cmake --preset sanitize -B $(SANITIZE_BUILD) -DFA_PYTHON=$(abspath $(PYTHON))
	@cmake --build $(SANITIZE_BUILD) -j $(JOBS) || { echo "0 passed, 1 failed"; exit 1; }
	@$(PYTHON) scripts/check.py --build $(SANITIZE_BUILD) --only lit

clean:
	rm -rf $(BUILD) $(SANITIZE_BUILD)
