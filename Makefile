# Every target is a short line that runs a command; without make, run the command itself (README.md lists them).
PYTHON ?= python3
HOST ?= 127.0.0.1
PORT ?= 8000
BUDGET ?= 6m
BUILDER ?= mkdocs
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar on
BUILD_WITH_mkdocs = $(BIN)/mkdocs build --strict
# The successor of Material, which the tests install. English first: it removes what was in its folder.
BUILD_WITH_zensical = $(BIN)/python -m generator stage && for each in staged/en.yml $$(ls staged/*.yml | grep -v /en.yml); do $(BIN)/zensical build --strict --config-file $$each || exit; done && rm -rf site && mv staged/site site
LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --custom-compile-command "make lock" -q

.PHONY: guide serve site publish bench check test messages lock clean
.DEFAULT_GOAL := guide

guide: .venv/site.done            ## serve the guide at once, and measure the quick profile on this machine meanwhile
	$(BIN)/python -m generator guide --dev-addr $(HOST):$(PORT) --time-budget $(BUDGET)

bench: .venv/bench.done           ## measure the quick profile and stop
	$(BIN)/python -m bench run --profile quick --time-budget $(BUDGET)

serve: .venv/site.done            ## serve the guide, without measuring
	$(BIN)/mkdocs serve --dev-addr $(HOST):$(PORT)

site: .venv/site.done             ## the static site, in site/
	$(BUILD_WITH_$(BUILDER))

publish: check                    ## check and build what is committed, and push it to the branch gh-pages
	$(BIN)/mkdocs gh-deploy --strict

check: .venv/site.done            ## validate records, catalogs and pages
	$(BIN)/python -m bench check && $(BIN)/python -m generator check

test: .venv/test.done             ## lint, types, unit tests, a strict build, the browser
	$(BIN)/ruff check && $(BIN)/ruff format --check
	$(BIN)/mypy & types=$$!; $(BIN)/python -m pytest -n logical --dist loadfile --no-loadscope-reorder; tests=$$?; wait $$types && exit $$tests

messages: .venv/site.done         ## refresh the translation catalogs from the pages
	$(BIN)/python -m generator messages

lock:                             ## pin the newest versions that pyproject.toml allows
	$(LOCK) pyproject.toml requirements/build.in -o requirements/site.txt && $(LOCK) -c requirements/site.txt requirements/bench.in -o requirements/bench.txt && $(LOCK) --extra test --extra runtimes -c requirements/site.txt -c requirements/bench.txt pyproject.toml -o requirements/test.txt

clean:                            ## remove everything that can be rebuilt; keep the records
	rm -rf .venv .cache site staged build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis

# One environment in three steps, each on top of the previous one. A step runs again when its requirements change.
.venv/bin/python:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Compile Atlas needs Python 3.11 or newer: make PYTHON=/path/to/python3.11')"
	$(PYTHON) -m venv .venv

.venv/site.done: .venv/bin/python requirements/site.txt pyproject.toml
	$(PIP) --require-hashes -r requirements/site.txt
	$(PIP) --quiet --no-deps --no-build-isolation --editable .
	touch $@

.venv/bench.done: .venv/site.done requirements/bench.txt requirements/torch.txt
	$(BIN)/python -m bench install
	touch $@

.venv/test.done: .venv/bench.done requirements/test.txt
	$(PIP) --require-hashes -r requirements/test.txt
	touch $@
