# Everything a person or a machine does here is one of these verbs. Each sets up what it needs.

VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
ARGS ?=
STORE := node_modules/.store
CDK := node_modules/.cdk
DYNAMODB_LOCAL := .cache/dynamodb-local
DYNAMODB_LOCAL_VERSION := 2.6.1
NPM_INSTALL := npm install --no-package-lock --no-audit --no-fund --loglevel=error

.DEFAULT_GOAL := help
.PHONY: help demo serve test check infra lua

help:
	@echo "make demo    a workflow from start to end: engine, worker, approval, result"
	@echo "make serve   the local engine on http://127.0.0.1:8080 (ARGS='--port 9000 --memory')"
	@echo "make test    the whole test suite (WORKERS=2 at once)"
	@echo "make check   lint, format, types, import rules"
	@echo "make infra   synthesise the AWS stacks into cdk.out"

demo: $(BIN)/.installed $(STORE)
	@$(BIN)/python examples/approval/demo.py

serve: $(BIN)/.installed $(STORE)
	@exec $(BIN)/assay serve $(ARGS)

test: $(BIN)/.installed $(STORE) $(DYNAMODB_LOCAL)/lib lua
	$(BIN)/python -m pytest -n $(WORKERS) --durations=10 $(ARGS)

check: $(BIN)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

infra: $(BIN)/.installed $(CDK)
	PATH="$(CURDIR)/$(BIN):$$PATH" node_modules/.bin/cdk synth --quiet $(ARGS)

# Python, at least 3.11, wherever it is. A candidate counts only if it can make an environment.
$(BIN)/.installed: requirements.txt pyproject.toml setup.py
	@test -x $(BIN)/python || { \
	  for python in python3 python3.13 python3.12 python3.11 python; do \
	    if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	    then found=$$python; break; fi; \
	  done; \
	  test -n "$$found" || { echo "make: Python 3.11 or later with venv is needed, and was not found" >&2; exit 1; }; \
	  echo "make: setting up $(VENV) with $$($$found --version)"; \
	  $$found -m venv $(VENV); }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps -e .
	@touch $@

# The local store is one binary from npm. Without it everything still runs, in memory.
$(STORE): package.json
	@if ! command -v npm >/dev/null; then \
	  echo "make: Node is missing, so the local store is in memory (install Node and npm to keep its data)" >&2; \
	elif $(NPM_INSTALL) --omit=dev; then touch $@; \
	else echo "make: npm could not fetch the local store, so it is in memory" >&2; fi

$(CDK): package.json
	@command -v npm >/dev/null || { echo "make: the CDK needs Node and npm" >&2; exit 1; }
	@$(NPM_INSTALL)
	@touch $(STORE) $@

# A second opinion for the store's tests: AWS's own DynamoDB Local, where Java and Maven are present.
$(DYNAMODB_LOCAL)/lib:
	@if ! command -v java >/dev/null || ! command -v mvn >/dev/null; then \
	  echo "make: Java or Maven is missing: the store is not tested on DynamoDB Local" >&2; exit 0; fi; \
	mkdir -p $(DYNAMODB_LOCAL) && printf '%s' \
	  '<project><modelVersion>4.0.0</modelVersion><groupId>assay</groupId>' \
	  '<artifactId>dynamodb-local</artifactId><version>1</version><packaging>pom</packaging>' \
	  '<dependencies><dependency><groupId>com.amazonaws</groupId><artifactId>DynamoDBLocal</artifactId>' \
	  '<version>$(DYNAMODB_LOCAL_VERSION)</version></dependency></dependencies></project>' \
	  > $(DYNAMODB_LOCAL)/pom.xml; \
	mvn -q -B -f $(DYNAMODB_LOCAL)/pom.xml dependency:copy-dependencies \
	    -DincludeScope=runtime -DoutputDirectory=part > $(DYNAMODB_LOCAL)/log 2>&1 \
	  && mv $(DYNAMODB_LOCAL)/part $@ \
	  || echo "make: Maven could not fetch DynamoDB Local: the store is not tested on it" >&2

# The Lua client's tests run where its interpreter and two libraries are.
LUA_PACKAGES := lua5.4 lua-socket lua-cjson
HAS_LUA := lua5.4 -e 'require "socket" require "cjson"' >/dev/null 2>&1
lua:
	@$(HAS_LUA) || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    export DEBIAN_FRONTEND=noninteractive; \
	    timeout 120 apt-get install -qq -y $(LUA_PACKAGES) >/dev/null 2>&1 \
	      || { timeout 60 apt-get update -qq && timeout 120 apt-get install -qq -y $(LUA_PACKAGES); } >/dev/null 2>&1; \
	  fi; \
	  $(HAS_LUA) || echo "make: $(LUA_PACKAGES) are not all here: the Lua client is not tested" >&2; }
