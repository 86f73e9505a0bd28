# SPDX-License-Identifier: MIT OR Apache-2.0
# make run    measure this Linux
# make test   all that CI runs
# make bench  run-to-run variation, compared with other tools; whether comparing finds changes and
#             nothing else, simulated and on real runs; how fast comparing and importing are
# make doc    the documentation as a site: target/book/site/index.html
CARGO ?= cargo
PROGRAM := $(or $(CARGO_TARGET_DIR),target)/release/kernmark
RUST_NEEDED := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

run: build
	$(PROGRAM) run

# Besides what is compiled, the sources of the kernels that targets build.
build: cargo
	@CARGO=$(CARGO) targets/sources/fetch freertos-next > /dev/null || \
		echo "The sources of FreeRTOS are not here; this Linux can be measured." >&2
	@$(CARGO) build --release --locked

# An older cargo fails on the dependencies with a message that names neither.
cargo:
	@tools/need-cargo $(RUST_NEEDED) $(CARGO)

packages:
	@tools/need-packages packages.txt

test: cargo packages
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --all-targets --quiet -- -D warnings
	shellcheck .ci/run ci/compare.sh targets/sources/fetch $(filter-out %.py,$(wildcard tools/*))
	tools/check-licences
	@$(MAKE) --no-print-directory build
	tools/run-tests $(CARGO) test --locked --no-fail-fast
	tools/fresh-catalog $(PROGRAM)

bench: build
	$(CARGO) bench --locked --quiet --bench compare
	$(CARGO) bench --locked --quiet --bench verdict
	$(CARGO) bench --locked --quiet --bench alarms
	$(CARGO) bench --locked --quiet --bench import
	$(CARGO) bench --locked --quiet --bench spread

catalog: build
	$(PROGRAM) list --format md > doc/catalog.md

# mdbook: the one in PATH, or else this version, built once. It builds with the Rust that we need.
MDBOOK_VERSION := 0.4.52
MDBOOK_ROOT := target/tools/mdbook-$(MDBOOK_VERSION)
MDBOOK := $(or $(shell command -v mdbook 2>/dev/null),$(MDBOOK_ROOT)/bin/mdbook)

doc: $(MDBOOK)
	tools/build-doc $(MDBOOK) target/book

$(MDBOOK_ROOT)/bin/mdbook: | cargo
	@echo "Building mdbook $(MDBOOK_VERSION), once; it stays in $(MDBOOK_ROOT)." >&2
	$(CARGO) install --locked --quiet --root $(MDBOOK_ROOT) --no-default-features --features search mdbook@$(MDBOOK_VERSION)

clean:
	$(CARGO) clean

.PHONY: run build cargo packages test bench catalog doc clean
