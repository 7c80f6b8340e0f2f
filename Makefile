# Everything works from a fresh clone with Python 3.11+ and make: the first use of a target sets up .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
JOBS   ?= 4
PEER   := .venv-bench/.ready
SITE   := .venv-docs/.ready
PYTEST := -m pytest
PLUGINS := $(wildcard plugins/genie-*)

.DEFAULT_GOAL := help
.PHONY: help run test drills check pythons smoke dist docs format bench shots film lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(READY) ## Start genie-tui (ARGS="host --title Standup" passes arguments on)
	@$(BIN)/python -m genie_tui $(ARGS)

# Files run in their order, with those that wait for programs among the others (conftest.py). Python
# keeps what it compiles, whatever the environment says: five processes import the same modules.
test: export PYTHONDONTWRITEBYTECODE =
test: $(READY) ## Run all tests, or a plugin's (PLUGIN=serve; ARGS="-k approval", JOBS=2)
	$(BIN)/python $(PYTEST) -n $(JOBS) --dist loadfile --no-loadscope-reorder $(PLUGIN:%=plugins/genie-%) $(ARGS)

drills: ## Run the drills in full: `make test` repeats each kill, cut and damage a tenth as often
	@$(MAKE) --no-print-directory test ARGS="-m drill --drills=1 $(ARGS)"

check: $(READY) ## Lint, formatting, types, layering
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

pythons: $(READY) ## Try the built wheels on every Python found; engine and contract tests on the last
	$(BIN)/python .ci/pythons.py --tests

smoke: $(READY) ## Try the built wheels on every Python found
	$(BIN)/python .ci/pythons.py

dist: $(READY) ## Build the wheels and sdists of genie-core, genie-tui and the plugins into dist/
	cd distributions/genie-core && ../../$(BIN)/python -m hatchling build -d ../../dist
	cd distributions/genie-tui && ../../$(BIN)/python -m hatchling build -d ../../dist
	for each in $(PLUGINS); do (cd $$each && ../../$(BIN)/python -m hatchling build -d ../../dist) || exit; done

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(SITE) ## Build the pages as a site in site/; a link that leads nowhere fails
	$(dir $(SITE))bin/mkdocs build --strict

format: $(READY) ## Format the code and apply safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY) ## Run the benchmarks and print their tables (ARGS="engine --messages 1000")
	@$(MAKE) --no-print-directory $(PEER) || echo "Going on without group-genie and group-terminal to compare with."
	$(BIN)/python -m benchmarks $(ARGS)

shots: $(READY) ## Make screenshots/*.svg and *.png from the real app
	$(BIN)/python -m screenshots.make

film: $(READY) ## Make screenshots/room-animated.svg: record a room and export it
	$(BIN)/python -m screenshots.film

lock: $(READY) ## Resolve the pinned versions in constraints.txt and .ci/docs.txt
	$(BIN)/python -m pip install --quiet pip-tools
	$(BIN)/python .ci/requirements.py > $(VENV)/requirements.in
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
	    --no-header --no-annotate --no-emit-index-url --no-emit-trusted-host \
	    --no-emit-find-links --no-emit-options --output-file constraints.txt $(VENV)/requirements.in
	$(BIN)/python .ci/requirements.py docs > $(VENV)/docs.in
	$(BIN)/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
	    --no-header --no-annotate --no-emit-index-url --no-emit-trusted-host \
	    --no-emit-find-links --no-emit-options --output-file .ci/docs.txt $(VENV)/docs.in

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) $(VENV)-* dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# constraints.txt names everything, dependencies of dependencies too, so pip has nothing to resolve.
# The stamp is newer than the pins, so a second run starts in the time the program itself needs.
$(READY): constraints.txt pyproject.toml $(PLUGINS:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "genie-tui needs Python 3.11 or newer; try: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) \
	    || { echo "python3 can't make a virtual environment; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@echo "Setting up $(VENV) (once)…"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r constraints.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	    -e . $(PLUGINS:%=-e %)
	@touch $@

# The site's generator lives apart: the program needs none of it.
$(SITE): .ci/docs.txt
	@test -x $(dir $@)bin/python || $(PYTHON) -m venv $(dir $@)
	@echo "Setting up $(dir $@) (once)…"
	@$(dir $@)bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

# What benchmarks compare with lives apart: its dependencies and ours exclude each other.
$(PEER): benchmarks/peers.txt
	@test -x $(dir $@)bin/python || $(PYTHON) -m venv $(dir $@)
	@echo "Setting up $(dir $@) (once)…"
	@$(dir $@)bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@
