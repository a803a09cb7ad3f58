# Everything a fresh machine needs is Python >= 3.10 and make.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-slow mutants proofs lint docs looks screens notebooks package bench clean

.venv/.installed: pyproject.toml papers/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "prepriv needs Python 3.10 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . -e papers
	@touch $@

.venv/.installed-dev: .venv/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: .venv/.installed ## train a private model on real data, write run/demo/model and run/demo/report.html
	$(BIN)/prepriv demo --out run/demo --overwrite

# Each worker compiles 300 files of tests for eleven seconds unless they are kept from an earlier run.
test: export PYTHONDONTWRITEBYTECODE :=
test: .venv/.installed-dev ## the whole suite but the long attacks
	$(BIN)/python -m pytest -n auto --dist worksteal

test-slow: .venv/.installed-dev ## the long attacks too
	$(BIN)/python -m pytest -n auto --dist worksteal -m 'slow or not slow'

mutants: .venv/.installed-dev ## plant every known bug and see which test kills it; goes on where it stopped
	$(BIN)/python tests/mutants/run.py --record run/mutants.jsonl

proofs: ## compile the machine-checked proofs and list what they rest on (Coq, mathcomp: docs/proofs/machine_checked.md)
	$(MAKE) -C proofs/coq

lint: .venv/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/style.py
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md docs --skip 'docs/notebooks,docs/img,docs/papers'

.venv/.installed-docs: .venv/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

docs: .venv/.installed-docs ## the site in run/site; a warning is an error
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs run/site

.venv/.installed-screens: .venv/.installed-docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[screens]'
	@touch $@

LOOK := run/demo/report.html run/site/index.html run/site/learn/tutorial.html
KINDS := trust errata search genindex proofs/index proofs/whole learn/comparison reference/index reference/estimators
OWN := holdout/report number/report audited/report additive/report scores description groups sketch/sketch
looks: demo docs .venv/.installed-screens ## reports and site in headless Chromium (apt-get install chromium): widths, schemes, print, axe
	rm -rf run/kinds
	$(BIN)/python docs/kinds.py run/kinds
	$(BIN)/python docs/screens.py $(LOOK) $(OWN:%=run/kinds/%.html) $(KINDS:%=run/site/%.html)

screens: demo docs .venv/.installed-screens ## the same, and the pictures of docs/img
	$(BIN)/python docs/screens.py $(LOOK) --keep docs/img

notebooks: .venv/.installed-dev ## execute the notebooks and store their outputs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[notebooks]'
	$(BIN)/python docs/notebooks/run.py

package: ## wheel and sdist in dist/, the wheel tried in an empty environment
	rm -rf dist run/empty
	$(PYTHON) -m venv run/empty
	run/empty/bin/python -m pip install --quiet --disable-pip-version-check build
	run/empty/bin/python -m build --outdir dist . > /dev/null
	rm -rf run/empty build
	$(PYTHON) -m venv run/empty
	run/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/prepriv-*.whl
	cd run && empty/bin/prepriv demo --out packaged --overwrite && empty/bin/prepriv report packaged/model --verify packaged/report.html

bench: .venv/.installed-dev
	$(BIN)/python -m pip install --quiet -e '.[benchmarks]'
	$(BIN)/python benchmarks/training_pass.py
	$(BIN)/python benchmarks/noise.py
	$(BIN)/python benchmarks/shuffling.py

clean:
	rm -rf .venv run build dist src/*.egg-info
