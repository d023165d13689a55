# `make help` explains every target.

PYTHON ?=
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
PACKAGES := requirements/runtime.txt requirements/bench.txt requirements/dev.txt
BEGUN := .venv/.begun
LIBRARIES := .venv/.libraries
SPARK_READY := .venv/.spark
READY := .venv/.ready
WARM := .venv/.warm
# Python keeps the bytecode of what it imports, whatever the environment says: else each of the many
# processes that tests start compiles all that it imports, for five seconds.
unexport PYTHONDONTWRITEBYTECODE
# Without bytecode: of eight thousand modules a few hundred are ever imported.
INSTALL := $(BIN)/python -m pip install -q --disable-pip-version-check --no-compile
# Spark finds Java by JAVA_HOME.
WITH_JAVA = JAVA_HOME="$$(tools/java.sh)"
# Tests start Spark dozens of times, each time for seconds: Java takes the classes from an archive and
# compiles lightly, and a start costs a third.
ARCHIVE := .venv/spark.jsa
LIGHT := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -Xlog:disable
# And Spark's Python processes find pyspark compiled.
WITH_LIGHT_JAVA = $(WITH_JAVA) PYTHONPATH="$(abspath tests/support/site)$${PYTHONPATH:+:$$PYTHONPATH}" \
    SPARK_LAUNCHER_OPTS="$(LIGHT)" \
    SPARK_SUBMIT_OPTS="$(LIGHT) -XX:SharedArchiveFile=$(abspath $(ARCHIVE))"

# Rooms whose doctests run in a plain process, and folders of tests that do too.
ROOMS := vocabulary kernels algebra expressions views brokers language planning operators registry storage \
    delivery worlds kinds edges engine server cli
UNIT := $(wildcard $(ROOMS:%=src/penstock/%) $(addprefix tests/,oracle unit golden tidy))
PROPERTIES := tests/property tests/contract
INTEGRATION := tests/integration
SPARK := tests/e2e tests/spark

# Two workers. `worksteal` gives each a half of the tests. `loadfile` keeps a file's tests, and so
# their Spark session, in one worker. The order of folders stays as given: the longest tests come
# first, lest one worker waits for the other.
PYTEST := $(BIN)/pytest -q -rs -n 2 --durations=15

.PHONY: help setup java demo test lint fmt types imports unit integration properties spark crash \
    experiments plain sparked lab peers clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) $(WARM) ## Make .venv with the pinned packages and Penstock itself, kernels compiled

$(BEGUN): tools/python.sh $(PACKAGES)
	@tools/python.sh $(BIN)/python >/dev/null 2>&1 || { \
	  python="$$(tools/python.sh "$(PYTHON)")"; \
	  echo "Making .venv with $$("$$python" --version)."; \
	  "$$python" -m venv --clear .venv; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	@echo "Installing the pinned packages into .venv (the first time: some minutes)."
	@touch $@

# Spark is as large as all others together, and compiling kernels does not need it: `make -j 2`
# does both at a time.
$(LIBRARIES): $(BEGUN) pyproject.toml
	@$(INSTALL) --no-deps -r <(grep -hv -e '^-r' -e '^pyspark==' $(PACKAGES))
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(SPARK_READY): $(BEGUN)
	@$(INSTALL) --no-deps "$$(grep '^pyspark==' requirements/runtime.txt)"
	@touch $@

# Here nothing is left to install but the peers of the lab; pip says whether all fits together.
$(READY): $(LIBRARIES) $(SPARK_READY) requirements/libcachesim.txt requirements/aircraft.txt
	@$(INSTALL) -r requirements/dev.txt
	@$(INSTALL) --no-deps -r requirements/libcachesim.txt -r requirements/aircraft.txt
	@touch $@

# Kernels are compiled here, over all cores, and found by every process after it. Python's own
# bytecode is written too, for the workers of Spark that come and go in tests.
$(WARM): $(LIBRARIES) $(wildcard src/penstock/kernels/*.py src/penstock/operators/*/warm_up.py)
	@$(BIN)/python -m compileall -q src tests
	@$(BIN)/python -m penstock.cli.warm
	@touch $@

java: ## Find Java 17 or newer, or install it
	@tools/java.sh >/dev/null

demo: setup java ## Run the demo
	@$(WITH_JAVA) $(BIN)/penstock demo

# What takes one core, or waits for packages, goes two at a time.
test: ## Check everything: style, types, imports and all tests
	@$(MAKE) --no-print-directory -j 3 setup java lint imports types $(ARCHIVE)
	@$(MAKE) --no-print-directory plain
	@$(MAKE) --no-print-directory sparked

lint: $(LIBRARIES) ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

fmt: $(LIBRARIES) ## Format, and repair what ruff can repair
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

types: $(READY) ## Check types
	$(BIN)/mypy

imports: $(LIBRARIES) ## Check that imports go down the rows
	$(BIN)/lint-imports --no-logo --no-cache

unit: setup ## Run the tests and doctests of the edit loop: parts by themselves
	$(PYTEST) --dist worksteal $(UNIT)

integration: setup ## Run the tests of whole homes, servers and processes, without Spark
	$(PYTEST) --dist worksteal $(INTEGRATION)

properties: setup ## Run the properties: drawn data against laws, slow twins and DuckDB
	$(PYTEST) --dist worksteal $(PROPERTIES)

$(ARCHIVE): $(READY) tests/support/archiving.py | java $(WARM)
	@echo "Keeping Spark's classes in $@ (the first time: a minute)."
	@$(WITH_JAVA) SPARK_SUBMIT_OPTS="$(LIGHT) -XX:ArchiveClassesAtExit=$(abspath $@)" \
	  $(BIN)/python -m tests.support.archiving

spark: setup java $(ARCHIVE) ## Run the tests that need Spark, but for the next two
	$(WITH_LIGHT_JAVA) $(PYTEST) --dist loadfile --no-loadscope-reorder $(SPARK)

crash: setup java $(ARCHIVE) ## Run the tests that kill processes
	$(WITH_LIGHT_JAVA) $(PYTEST) --dist loadfile --no-loadscope-reorder tests/crash

experiments: setup java $(ARCHIVE) ## Run the lab's experiments, tiny
	$(WITH_LIGHT_JAVA) $(PYTEST) --dist loadfile --no-loadscope-reorder tests/lab

# As `unit`, `integration` and `properties`, and as `crash`, `spark` and `experiments`: together, workers
# wait for each other twice and not six times. What users do comes before what is measured: if a run has an end,
# experiments are left out first.
plain: setup
	$(PYTEST) --dist worksteal $(PROPERTIES) $(INTEGRATION) $(UNIT)

sparked: setup java $(ARCHIVE)
	$(WITH_LIGHT_JAVA) $(PYTEST) --dist loadfile --no-loadscope-reorder tests/crash $(SPARK) tests/lab

lab: setup java ## Rerun the lab's experiment with standing filters, small
	@$(WITH_JAVA) $(BIN)/penstock lab filters --size small

peers: .venv-pathway/.ready .venv-flink/.ready ## Make .venv-pathway and .venv-flink: peers of the lab, with packages of their own

.venv-%/.ready: requirements/%.txt
	@python="$$(tools/python.sh "$(PYTHON)")"; "$$python" -m venv --clear .venv-$*
	@echo "Installing $* into .venv-$* (some minutes)."
	@.venv-$*/bin/python -m pip install -q --disable-pip-version-check --no-compile -r requirements/$*.txt
	@touch $@

clean: ## Remove what tools and runs left behind; keep .venv
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf spark-warehouse metastore_db derby.log demo-home
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
