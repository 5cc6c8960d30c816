# make demo: set up, train on the bundled Cora with and without SFA, print a table, draw two pictures.
# make test: set up, lint, run all tests. make test-fast: the tests that need no browser, no other process and no time.
# make docs: set up, build the documentation site into build/site. make dist: a wheel and an sdist in dist/.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export NO_MKDOCS_2_WARNING := 1

.PHONY: demo test test-fast fuzz lint format install benchmark docs docs-serve dist clean

demo: $(INSTALLED)
	$(BIN)/sfa demo

# One worker a core, one thread a worker.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile

test: lint
	$(PYTEST)

test-fast: $(INSTALLED)
	$(PYTEST) -m "not browser and not multiprocess and not slow"

# Many more random files than the tests try; SFA_FUZZ_EXAMPLES says how many times as many.
fuzz: $(INSTALLED)
	SFA_FUZZ_EXAMPLES=$${SFA_FUZZ_EXAMPLES:-30} $(PYTEST) tests/fuzz

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmark: $(INSTALLED)
	$(BIN)/python benchmarks/sfa_overhead.py
	$(BIN)/python benchmarks/passes.py
	$(BIN)/python benchmarks/spectral_maps.py
	$(BIN)/python benchmarks/epoch.py
	$(BIN)/python benchmarks/busy.py
	$(BIN)/python benchmarks/probes.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/large_graph.py
	$(BIN)/python benchmarks/graph_level.py
	$(BIN)/python benchmarks/image_level.py

docs: $(INSTALLED)
	$(BIN)/mkdocs build --strict

docs-serve: $(INSTALLED)
	$(BIN)/mkdocs serve

dist: $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m build

install: $(INSTALLED)

# Made anew when what is to be installed has changed. The constraints pin what was tested; which build of that PyTorch
# comes (CPU or CUDA) is decided by the index or wheel folder that pip is set up with.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("sfa needs Python 3.10 or later, this is " + sys.version.split()[0] + ": make PYTHON=... names another." if sys.version_info < (3, 10) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
