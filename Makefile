# Everything one does here, by name. `make` alone lists it.
# All of it works in a fresh clone: what is missing is fetched first, from the
# package registries only, by scripts/setup.

SHELL := bash
.DEFAULT_GOAL := help

# Programs that scripts/setup installed come first.
export PATH := $(CURDIR)/.setup/bin:$(CURDIR)/.setup/node/node_modules/.bin:$(PATH)

# Conversations to measure recall on: make bench DATA=path/to/dir
DATA ?= ../shared/data/locomo-dev

# Compiling the clients of the other languages may take longer than a test is given.
BUILD_CLIENTS = for language in go python typescript java {go,python,typescript,java}-package \
  python-frameworks python-crewai n8n; do \
  tests/clients/run $$language --build || [ $$? = 77 ] || exit 1; done

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Start Recollect on this machine, with a private database and index
	@echo "Starting Recollect: set-up, build, then the server; Ctrl-C stops it."
	@echo "The first time takes long: set-up a minute, the build 10 to 15 minutes on 2 cores."
	@scripts/setup model
	@scripts/setup postgres
	@scripts/setup grpcurl
	cargo run -p recollect -- dev

.PHONY: demo
demo: ## Store a long conversation, then ask about it
	@echo "The demo: set-up, build, then a conversation is stored and recalled."
	@echo "The first time takes long: set-up a minute, the build 10 to 15 minutes on 2 cores."
	@scripts/setup model
	@scripts/setup postgres
	@scripts/setup grpcurl
	cargo run -p recollect -- demo

.PHONY: test
test: setup ## Run the tests, but for the long ones
	@scripts/run-tests

.PHONY: test-all
test-all: setup build-clients ## Run all tests: also the clients, the console and chaos
	@RECOLLECT_LONG_TESTS=1 scripts/run-tests

.PHONY: test-model
test-model: setup ## Run the tests with a small real language model
	@scripts/setup test-model
	RECOLLECT_LONG_TESTS=1 RECOLLECT_TEST_MODEL=1 scripts/run-tests small_model --test-threads 1

.PHONY: features
features: setup build-clients ## Run the tests of the feature table, and print the table
	cargo build --workspace --bins
	RECOLLECT_LONG_TESTS=1 cargo test --workspace --test e2e -- --features-table

.PHONY: build-clients
build-clients: setup
	@$(BUILD_CLIENTS)

# Other scenarios, or a repetition: make chaos CHAOS="kill --count 200 --seed 7"
CHAOS ?= all
FUZZ ?= --seconds 600
# Generated conversations: make fuzz HISTORIES=1000000
HISTORIES ?= 100000

.PHONY: chaos
chaos: setup ## Kill, restart and overload servers for ten minutes, and print a report
	cargo build --workspace --bins
	target/debug/recollect-chaos $(CHAOS)

.PHONY: fuzz
fuzz: setup ## Call every method with invalid requests, and render generated conversations
	cargo build --workspace --bins
	target/debug/recollect-chaos fuzz $(FUZZ)
	PROPTEST_CASES=$(HISTORIES) cargo test --workspace --test provider_schemas

.PHONY: dist
dist: ## Make what people install: tarball, wheel, npm and Debian package, image
	@scripts/setup dist
	@packaging/build

.PHONY: test-dist
test-dist: ## Install each of them into a bare system, and recall something
	@scripts/setup dist
	@packaging/try

# More seeds: make simulate SEEDS=10000. One again: RECOLLECT_SEED=17 make simulate SEEDS=1
SEEDS ?= 1000
# Those of the interfaces' test, which may take 300 seconds.
INTERFACE_SEEDS = $(if $(RECOLLECT_SEED),1,60)

.PHONY: simulate
simulate: setup ## Simulate workers and faults by seed, and compare interfaces and indexes
	RECOLLECT_SEEDS=$(SEEDS) cargo test --workspace --test store --test index -- simulation generated_searches
	RECOLLECT_SEEDS=$(INTERFACE_SEEDS) scripts/run-tests grpc_json_and_mcp

.PHONY: test-qdrant
test-qdrant: ## Run the tests of index and recall against a real Qdrant at QDRANT_URL
	@if [ -z "$$QDRANT_URL" ]; then \
	  echo "Set QDRANT_URL to the gRPC address of a Qdrant that may be written to,"; \
	  echo "for example: make test-qdrant QDRANT_URL=http://localhost:6334"; \
	  exit 1; \
	fi
	@scripts/setup
	cargo build --workspace --bins
	cargo test --workspace --test index --test recall -- qdrant --include-ignored
	cargo test --workspace --test e2e -- recall

# How the Rust code is linted. .ci/run lints while it builds.
LINT_RUST ?= cargo clippy --workspace --all-targets -- -D warnings

.PHONY: lint
lint: ## Check format, Rust lints, dependencies, the contract, manifests and scripts
	@scripts/setup tools
	cargo fmt --all --check
	$(LINT_RUST)
	@# cargo-deny reads the dependencies of all platforms; a build fetches those of this one.
	cargo fetch --locked --quiet
	@command -v cargo-deny >/dev/null || { echo "lint: cargo-deny is missing; scripts/setup tools says why"; exit 1; }
	cargo deny --offline check --hide-inclusion-graph licenses bans sources
	@if [ -n "$$(find proto -name '*.proto' -print -quit)" ]; then \
	  command -v buf >/dev/null || { echo "lint: buf is missing; scripts/setup tools says why"; exit 1; }; \
	  echo "buf lint" && buf lint && scripts/proto-breaking && \
	  echo "docs/api.md" && scripts/api-doc --check && \
	  echo "clients/go" && scripts/generate --check; \
	else \
	  echo "No protos yet: buf has nothing to check"; \
	fi
	@scripts/lint-deploy
	@echo "packaging/check-tag" && packaging/check-tag "v$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"
	@if command -v shellcheck >/dev/null; then \
	  echo "shellcheck scripts" && shellcheck -x scripts/setup scripts/lint-deploy scripts/proto-breaking scripts/generate scripts/clients-env scripts/run-tests tests/clients/run tests/console/run packaging/build packaging/try packaging/check-tag packaging/prepare packaging/publish .ci/run; \
	else \
	  echo "Skipped: the scripts (no shellcheck)"; \
	fi

.PHONY: generate
generate: ## Write client code to gen/ and clients/go, and docs/api.md, from the contract
	@scripts/setup clients
	@scripts/generate
	@scripts/api-doc

.PHONY: fmt
fmt: ## Format the Rust code
	cargo fmt --all

.PHONY: bench
bench: ## Measure load, and recall quality on DATA, with optimized builds
	@echo "Measuring: set-up, an optimized build (about 11 minutes the first time on 2 cores), then two runs."
	@scripts/setup model
	@scripts/setup postgres
	cargo build --release -p recollect -p memory-bench
	@if [ -d "$(DATA)" ]; then \
	  target/release/memory-bench load --conversations "$(DATA)" && target/release/memory-bench quality "$(DATA)"; \
	else \
	  target/release/memory-bench load && \
	  echo "Skipped: recall quality. Name a directory of conversations: make bench DATA=path/to/dir"; \
	fi

.PHONY: setup
setup: ## Fetch what is missing: model, Postgres, tools; quiet when all is there
	@scripts/setup
