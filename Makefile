# Everything a fresh machine needs is Python >= 3.10 and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow mutants lint bench clean

.venv/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "prepriv needs Python 3.10 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/.installed-dev: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: .venv/.installed ## train a private model on real data, write run/demo/model and run/demo/report.html
	$(BIN)/prepriv demo --out run/demo --overwrite

test: .venv/.installed-dev ## the whole suite but the long attacks
	$(BIN)/python -m pytest -n auto

test-slow: .venv/.installed-dev ## the long attacks too
	$(BIN)/python -m pytest -n auto -m 'slow or not slow'

mutants: .venv/.installed-dev ## plant every known bug and see which test kills it
	$(BIN)/python tests/mutants/run.py

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.installed-dev
	$(BIN)/python -m pip install --quiet -e '.[benchmarks]'
	$(BIN)/python benchmarks/training_pass.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/shuffling.py

clean:
	rm -rf .venv run build dist src/*.egg-info
