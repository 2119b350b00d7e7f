# On a fresh machine with Python >= 3.11 and make: `make demo` and `make test` do all the set-up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNNABLE := $(VENV)/.runnable
READY := $(VENV)/.ready
SYNTHESIS := safe_gate/evaluators/synthesis
TABLE := $(SYNTHESIS)/phrases.table
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo regression test coverage soak lint fix docs bench peer checks release-check audit sbom lock clean

demo: $(RUNNABLE) $(TABLE) ## run the gate on examples/ and show the scorecard
	@$(BIN)/safe-gate run --safe-batch 'examples/clinical/*_batch_*' --synthesis-cases examples/empathy.jsonl \
	  --report-dir reports || [ $$? -eq 1 ] && echo 'The gate failed, as one batch of the examples is made to show.'
	@echo 'See why a case fails: $(BIN)/safe-gate explain EMP-028 --cases examples/empathy.jsonl'

regression: $(RUNNABLE) ## hold the regression planted in examples/regressed against examples/
	@$(BIN)/safe-gate run --safe-batch examples/clinical/golden_set.json --synthesis-cases examples/empathy.jsonl \
	  --report-dir reports/before >/dev/null
	@$(BIN)/safe-gate run --safe-batch examples/clinical/golden_set.json \
	  --safe-outputs examples/regressed/golden_set.outputs.jsonl --synthesis-cases examples/regressed/empathy.jsonl \
	  --baseline reports/before/safe-gate.json --max-regressions 0 --report-dir reports || [ $$? -eq 1 ]

# Without compiled files, each process that a test starts compiles the whole package.
test coverage soak: export PYTHONDONTWRITEBYTECODE =

test: lint $(TABLE) ## the test suite, but for what takes long; no test may use more than five seconds
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal -m 'not soak'

coverage: $(READY) $(TABLE) ## what the tests cover: all of what decides, and most of the rest
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal -m 'not soak' --cov --cov-report=term-missing
	$(BIN)/coverage report --fail-under=100 --include='safe_gate/gate/rules.py,safe_gate/evaluators/*'

soak: $(READY) ## the tests that take long or need containers, act or a browser; properties with all examples
	$(BIN)/python -m pytest --numprocesses=auto --dist=worksteal --hypothesis-profile=thorough -m 'soak or thorough'

lint: $(READY) ## style, types, import rules
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(READY) ## put right what a tool can put right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(READY) $(TABLE) ## write the tables of docs/, the inputs of both actions, the keys of the config schema, llms.txt and all pictures from the code
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/architecture.py
	$(BIN)/python docs/pictures.py

bench: $(READY) $(TABLE) ## what start-up, memory, a reply and a run of many cases cost, as ratios (a few minutes)
	$(BIN)/python benchmarks/cost.py
	$(BIN)/python benchmarks/reply.py

peer: $(READY) ## SAFE v0 against promptfoo on the same cases, where Node is (installs 2 GB into the user's cache once)
	$(BIN)/python benchmarks/peer.py

checks: $(READY) ## how the checks agree with labelled cases: make checks DATA='FILE...'
	@$(BIN)/python training/evaluate.py $(DATA)

# What a release needs besides: see docs/releasing.md.
release-check: $(RUNNABLE) ## build wheel and sdist twice, compare them, and check what a release needs: make release-check [TAG=v1.2.3]
	$(BIN)/python -m release.check $(TAG:%=--tag %)
	$(BIN)/python -m release.build dist

audit: $(VENV)/.release ## look up known vulnerabilities of what ships, and check the workflows
	$(VENV)/release/bin/pip-audit --strict --disable-pip --require-hashes -r requirements-image.txt
	$(VENV)/release/bin/zizmor --offline --persona auditor .

# Not --output-reproducible, which leaves out the serial number by which actions/attest knows CycloneDX.
sbom: $(VENV)/.release ## list what a wheel installs, with licences, as CycloneDX in dist/
	mkdir -p dist
	$(PYTHON) -m venv --clear --without-pip $(VENV)/shipped
	$(BIN)/python -m pip --python $(VENV)/shipped install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(VENV)/release/bin/cyclonedx-py environment $(VENV)/shipped --pyproject pyproject.toml --output-file dist/safe-gate.cdx.json

LOCK := uv pip compile --universal --no-strip-extras --python-version 3.11 --generate-hashes --upgrade --quiet --custom-compile-command 'make lock'

lock: ## resolve the dependencies again, with hashes (needs uv: pip install uv)
	$(LOCK) pyproject.toml --output-file requirements.txt
	$(LOCK) pyproject.toml --extra otel --output-file requirements-image.txt
	$(LOCK) --group build --output-file requirements-build.txt
	$(LOCK) --group release --output-file requirements-release.txt
	$(LOCK) pyproject.toml --extra dask --extra otel --extra zstd --group dev --output-file requirements-dev.txt

$(TABLE): $(SYNTHESIS)/classes.json $(SYNTHESIS)/lists.json $(wildcard $(SYNTHESIS)/packs/*/*.json) $(SYNTHESIS)/engine/phrases.py $(SYNTHESIS)/engine/rules.py | $(RUNNABLE)
	$(BIN)/python hatch_build.py

clean:
	rm -rf $(TABLE) $(VENV) reports dist .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache

$(RUNNABLE): requirements.txt requirements-build.txt pyproject.toml
	@echo 'Setting up $(VENV) with what safe-gate needs to run ...'
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --require-hashes -r requirements.txt -r requirements-build.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(READY): requirements-dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --require-hashes -r requirements-dev.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	@touch $(RUNNABLE) $@

$(VENV)/.release: requirements-release.txt | $(RUNNABLE)
	$(PYTHON) -m venv $(VENV)/release
	$(VENV)/release/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-release.txt
	@touch $@
