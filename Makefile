# Farcache: every target works from a clean clone; what is missing on the machine is installed.

PREFIX ?= /usr/local
# Where libfarcache goes; /usr/lib/x86_64-linux-gnu on Debian, say.
LIBDIR ?= $(PREFIX)/lib
# In front of everything, for packages.
DESTDIR ?=
# Arguments of the server that `make run` starts.
RUN_ARGS ?= --listen=127.0.0.1 --memory-limit=1024 --verbose
# Seconds that each fuzz target gets in `make test`.
FUZZ_SECONDS ?= 6

# Seconds that each part of `make test-long` gets.
LONG_SECONDS ?= 3600

# What builds container images: podman, docker, or "buildah".
CONTAINER_TOOL ?= podman

# Options of farcache-workloads.
WORKLOADS_ARGS ?=

# Minutes that `make report` may take once everything is built, and options of scripts/report.
REPORT_MINUTES ?= 60
REPORT_ARGS ?=

# A toolchain that rustup has just installed is found without a new login.
export PATH := $(HOME)/.cargo/bin:$(PATH)

.DEFAULT_GOAL := help
.PHONY: help run build all test test-long test-fabric-2 demo demo-hadoop bench packages container workloads report install uninstall fmt clean deps-build deps-run deps-test deps-bench

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

run: build deps-run ## Build and start the server (RUN_ARGS="...")
	exec target/release/farcached $(RUN_ARGS)

build: deps-build ## Build the release server
	cargo build --release --locked -p farcache-server

test: deps-test ## Run every check and test; the same as continuous integration
	FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/run-tests

test-fabric-2: deps-test ## Test the fabric between two virtual machines
	scripts/verbs-guest/test-pair

test-long: deps-test ## Thousands of schedules and seeds, a large model, 500 histories, loads of gigabytes with losses, crash points for LONG_SECONDS, 1,000 power cuts, all of Java on versions 11, 21 and 25, Hadoop's benchmarks, jobs of Spark
	cargo test -p farcache-redundancy-model --test redundancy -- --ignored
	FARCACHE_INTERLEAVINGS=2000 scripts/model-tests
	FARCACHE_MEMBERSHIP_SEEDS=5000 cargo test -p farcache-membership --test simulation
	scripts/histories --long
	scripts/losses --long
	scripts/crash-points $(LONG_SECONDS)
	scripts/power-loss --cuts 250
	cargo build -p farcache-server --bins && scripts/java-environment && scripts/java-runtimes && scripts/java-tests --long
	scripts/hadoop-jobs target/hadoop-jobs --megabytes 512
	scripts/hadoop-jobs target/hadoop-jobs --megabytes 64 --kill 50
	scripts/hadoop-jobs /dev/shm --random 1000000
	scripts/hadoop-jobs target/hadoop-jobs --on yarn --megabytes 64
	scripts/hadoop-jobs target/hadoop-jobs --spark 20000

demo: build deps-bench ## Compare fabric, sockets and memcached, short version: about a minute
	cargo build --release --locked -p farcache-bench
	target/release/farcache-fabric --short --svg target/fabric-demo.svg
	target/release/farcache-compare --short
	@echo "The picture of the fabric is target/fabric-demo.svg."

demo-hadoop: build ## Compare Hadoop's TestDFSIO and Sort on a slow file system as it is, with Alluxio and with Farcache
	scripts/install-deps.sh hadoop
	-scripts/install-deps.sh moosefs
	scripts/java-natives --release
	mvn -B -q -pl integrations/hadoop -am test-compile
	scripts/hadoop-compare --megabytes 128 --svg target/hadoop-demo.svg

bench: build deps-bench ## Compare fabric, sockets and memcached, all measurements
	cargo build --release --locked -p farcache-bench
	target/release/farcache-fabric --json target/fabric.json --svg target/fabric.svg
	target/release/farcache-compare --json target/bench.json
	@echo "All figures are in target/fabric.json and target/bench.json; scripts/readme-table writes them into docs/benchmarks.md."

workloads: ## Query cache, TATP and Twitter with MariaDB behind memcached and farcached, half an hour (WORKLOADS_ARGS="--quick")
	scripts/workloads --json target/workloads.json --markdown target/workloads.md --svg target/workloads $(WORKLOADS_ARGS)

report: build deps-bench ## Measure what this machine can within REPORT_MINUTES, and write one HTML page (REPORT_ARGS="...")
	cargo build --release --locked -p farcache-bench
	scripts/workload-client
	scripts/drop-in target/drop-in --release
	scripts/report --minutes $(REPORT_MINUTES) $(REPORT_ARGS)

all: deps-build ## Build all that make install installs
	scripts/install build

packages: deps-build ## Make Debian packages in target/packages
	scripts/packages

container: packages ## Make the container image "farcached" from these packages (CONTAINER_TOOL=podman)
	$(CONTAINER_TOOL) build --build-arg PACKAGES=made --tag farcached --file Containerfile .

install: ## Install what make all has built; as root where PREFIX needs it (PREFIX, LIBDIR, DESTDIR)
	PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" DESTDIR="$(DESTDIR)" scripts/install install

uninstall: ## Remove what make install has installed
	PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" DESTDIR="$(DESTDIR)" scripts/install uninstall

fmt: deps-build ## Format all Rust code
	cargo fmt --all

clean: ## Remove everything that was built
	rm -rf target .cache

deps-build:
	@scripts/install-deps.sh build

# UCX, for the fabric; a server without it serves sockets, so that it cannot be had ends nothing.
deps-run:
	@scripts/install-deps.sh run || echo "make: UCX cannot be installed: the server goes without the fabric" >&2

deps-test:
	@scripts/install-deps.sh build test

deps-bench:
	@scripts/install-deps.sh build bench
