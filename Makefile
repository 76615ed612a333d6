# One word per step. Each sets up .venv first, where it is missing or older than what it is made from.
# Needs git, make and Python 3.11 or 3.12; everything else comes from PyPI, Java included.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo docs quick test lint format crash soak simulate bench lock clean

help: ## list these words
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile

demo: $(READY) ## the product at work: real flights, a real Airflow, a table and a picture
	$(BIN)/python -m dags_examples.demo

docs: $(READY) ## build the site: build/site/index.html
	$(BIN)/python -m docs.site

# A hundred random cases of the kernel instead of 640, and a quarter of the examples elsewhere.
quick: $(READY) ## the tests that need neither Spark nor Airflow and tell most: under a minute
	KERNEL_CASES=100 $(BIN)/python -m pytest --hypothesis-profile=quick -m "not spark and not airflow" tests/house \
		tests/model tests/reference tests/progress tests/cli tests/spark/test_kernel_is_the_reference.py

# Two runs side by side, since most tests keep one core busy: one has the Spark session, the other Airflow's database.
test: $(READY) ## every test, in two processes side by side
	@mkdir -p build; trap 'kill $$other; exit 130' INT TERM; \
	$(BIN)/python -m pytest --durations=12 -p no:cacheprovider -m "not spark or cluster" tests >build/tests.log 2>&1 & other=$$!; \
	{ $(BIN)/python -m pytest --durations=12 -m "spark and not cluster" tests; echo $$? >build/spark-status; } 2>&1 | \
		tee build/spark-tests.log; \
	with=$$(cat build/spark-status); wait $$other; without=$$?; \
	echo "Tests without the Spark session (build/tests.log):"; cat build/tests.log; \
	echo; echo "With the Spark session, and without: exit status $$with, $$without"; \
	grep -hE '^=+ .*(passed|failed|error).* in ' build/spark-tests.log build/tests.log; \
	test $$with$$without = 00

lint: $(READY) ## ruff, the formatter and mypy, changing nothing
	@status=0; \
	for check in "ruff check ." "ruff format --check ." "mypy --strict airflow_dataflow_provider"; do \
		echo "$(BIN)/$$check"; $(BIN)/$$check || status=1; \
	done; \
	exit $$status

format: $(READY) ## let ruff fix and format what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

crash: $(READY) ## kill -9 of the driver, ten times in each mode
	$(BIN)/python -m tests.crash.campaign

soak: $(READY) ## every transcript on every engine; 100,000 random pipelines (SOAK="--minutes 10 --seed 1")
	EVERYWHERE=1 $(BIN)/python -m pytest tests/transcripts
	$(BIN)/python -m pytest --hypothesis-profile=free tests/model tests/reference
	$(BIN)/python -m tests.soak $(SOAK)

simulate: $(READY) ## 20,000 worlds in which all goes wrong that can (SIMULATE="--worlds 1000 --seed 1")
	PYTHONHASHSEED=0 $(BIN)/python -m tests.simulate $(SIMULATE)

bench: GROWS = $(if $(filter 0,$(GROWTH)),--no-growth,--growth)
bench: NARROWED = $(and $(QUERY),--queries $(QUERY)) $(and $(KEYS),--keys $(KEYS)) $(and $(GROWTH),$(GROWS))
bench: $(READY) ## measure against hand-written Spark; narrow it: QUERY=Q2 KEYS=1000 GROWTH=0
	$(BIN)/python -m tests.benchmarks $(strip $(NARROWED))

lock: $(READY) ## choose every version anew, from what pyproject.toml allows
	$(BIN)/uv pip compile --quiet --upgrade --extra dev --python-version 3.11 --no-header --no-annotate \
		--no-emit-index-url --no-emit-find-links pyproject.toml --output-file requirements.lock

clean: ## remove what the other words made, except .venv
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log artifacts
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# The lock names every version, uv's too: pip is only needed to fetch uv, which is faster and shows its progress.
$(READY): requirements.lock pyproject.toml
	@python=; for candidate in $(PYTHON) python3.11 python3.12 python3; do \
		if "$$candidate" -c '$(SUPPORTED)' 2>/dev/null; then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
		echo "No Python 3.11 or 3.12 found. Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi; \
	if ! $(BIN)/python -c '$(SUPPORTED)' 2>/dev/null; then \
		echo "Making $(VENV) with $$python"; \
		"$$python" -m venv --clear $(VENV); \
	fi
	@echo "Installing what requirements.lock names (about 150 packages, Spark and Airflow among them)"
	$(BIN)/python -m pip install --quiet "$$(grep '^uv==' requirements.lock)"
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --compile-bytecode -r requirements.lock
	VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install --no-deps --editable .
	@touch $@
