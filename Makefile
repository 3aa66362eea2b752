# Every target uses the project's own environment (.environment), made by `make setup`.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help setup install demo test test-r test-python lint format docs test-tf test-gpu test-real check check-all check-bare chaos bench bench-quick site clean

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing: Debian packages, the Python environment, the package itself
	@tools/setup package
	@echo "setup: ready"

install: ## Install the R package into the project's library if its sources changed
	@tools/setup package

demo: ## Train on real data by two processes while a third evaluates, and compare with lm()
	@tools/setup demo
	@tools/env Rscript inst/examples/diamonds-cluster.R

test: install ## Prove what README promises, by tests of both languages (at most 9 minutes of processor time)
	@tools/check --test

test-r: install ## Run the R tests (FILTER=name runs the files whose name contains it)
	@tools/test-r "$(FILTER)"

test-python: environment ## Run the Python tests (ARGS='-k name' goes to pytest)
	@tools/env python -m pytest $(ARGS)

test-tf: install ## Run chosen tests with another TensorFlow (VERSION=2.18; PYTHON=path of a Python; ARGS for pytest)
	@PYTHON="$(PYTHON)" tools/test-tensorflow "$(VERSION)" $(ARGS)

test-gpu: environment ## Run the tests that need an NVIDIA GPU, from Python and from R (ARGS for pytest)
	@tools/test-gpu $(ARGS)

test-real: install ## Run the R tests that have stand-ins with the real packages (LIBRARY=folder of these R packages)
	@tools/test-real "$(LIBRARY)"

lint: environment ## Run all linters; silent when all is well
	@tools/lint

format: environment ## Lay out R and Python code
	@tools/env ruff check --quiet --fix-only .
	@tools/env ruff format --quiet .
	@tools/env air format R tests inst bench tools

site: install ## Build the documentation site in .environment/site, offline
	@tools/env Rscript tools/site.R

docs: environment ## Write R/schema.R, arguments of constructors, man/ and NAMESPACE
	@tools/env python tools/schema.py
	@tools/env Rscript tools/document.R .

check: install ## Lint, test, and R CMD check; says how long each took
	@tools/check

check-all: install ## The same with every test: all pairs of model and strategy, all faults, every TensorFlow
	@tools/check --all

check-bare: ## R CMD check as on CRAN's machines: nothing but R, an empty home, no network, no TensorFlow
	@tools/check-package --bare

chaos: environment ## Disturb jobs by faults drawn from a seed, and print their goodput (RUNS=20 SEED=1; LIMIT_S=60)
	@CHAOS_RUNS="$(or $(RUNS),20)" CHAOS_SEED="$(or $(SEED),1)" CHAOS_LIMIT_S="$(or $(LIMIT_S),60)" \
		tools/env python -m pytest -q -rP -m "" tests/python/launch/test_chaos.py

bench: install ## Measure against plain Estimators, Keras and PyTorch (about half an hour)
	@tools/bench

bench-quick: install ## The small model only, in fewer turns (about 2 minutes)
	@tools/bench --quick

clean: ## Remove what was made, the environment included
	rm -rf .environment

.PHONY: environment
environment:
	@tools/setup
