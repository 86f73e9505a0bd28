# SPDX-License-Identifier: MIT OR Apache-2.0
# make run        measure this Linux
# make install    install the tool, its man page and completions below PREFIX (default /usr/local);
#                 DESTDIR is put in front; PROGRAM=FILE installs that instead of building
# make uninstall  remove what `make install` installed
# make deb        a Debian package in target/dist
# make dist       static binaries for x86-64 and AArch64 in target/dist
# make licences   the licences of the crates that the tool links
# make test       all that CI runs
# make bench      run-to-run variation, compared with other tools; whether comparing finds changes
#                 and nothing else, simulated and on real runs; how fast comparing, importing and
#                 many saved runs are
# make doc        the documentation as a site: target/book/site/index.html
# make catalog    doc/catalog.md, from the agent's catalog
# make linux-releases  doc/linux-releases.md and its picture: measures Debian's kernels, 5 minutes of CPU;
#                      CONTINUE=1 goes on where an earlier one was interrupted
# make linux-exact     doc/linux-exact.md: measures variants of one kernel, 4 minutes of CPU (CONTINUE=1 too);
#                      LINE="what the line is" A=FOLDER B=FOLDER measures two kernels one line apart instead
# make linux-pages     both pages and the picture again, from the data that is there
# make clean      remove what was built
CARGO ?= cargo
PREFIX ?= /usr/local
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
built := $(or $(CARGO_TARGET_DIR),target)/release/kernmark
PROGRAM := $(built)
RUST_NEEDED := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# PROGRAM_HERE prints the man page and the completions. It must run on this machine; PROGRAM may be
# for another.
PROGRAM_HERE ?= $(PROGRAM)
bin := $(DESTDIR)$(PREFIX)/bin/kernmark
man := $(DESTDIR)$(PREFIX)/share/man/man1/kernmark.1
bash := $(DESTDIR)$(PREFIX)/share/bash-completion/completions/kernmark
fish := $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/kernmark.fish
zsh := $(DESTDIR)$(ZSH_COMPLETIONS)/_kernmark

run: build
	$(built) run

build: cargo sources
	@$(CARGO) build --release --locked

# The sources of FreeRTOS, which a target builds.
sources:
	@CARGO=$(CARGO) targets/sources/fetch freertos-next > /dev/null || \
		echo "The sources of FreeRTOS could not be downloaded. This Linux can be measured without them." >&2

# An older cargo fails on a dependency, with a message that does not name cargo.
cargo:
	@tools/need-cargo $(RUST_NEEDED) $(CARGO)

# A PROGRAM on the command line is built already, so root needs no cargo.
install: $(if $(filter command line,$(origin PROGRAM)),,build)
	install -d "$(dir $(bin))" "$(dir $(man))" "$(dir $(bash))" "$(dir $(fish))" "$(dir $(zsh))"
	install -m 755 "$(PROGRAM)" "$(bin)"
	"$(PROGRAM_HERE)" man > "$(man)"
	"$(PROGRAM_HERE)" completions bash > "$(bash)"
	"$(PROGRAM_HERE)" completions fish > "$(fish)"
	"$(PROGRAM_HERE)" completions zsh > "$(zsh)"
	chmod 644 "$(man)" "$(bash)" "$(fish)" "$(zsh)"

uninstall:
	rm -f "$(bin)" "$(man)" "$(bash)" "$(fish)" "$(zsh)"

deb: build
	CARGO="$(CARGO)" tools/deb $(built)

dist: cargo
	CARGO="$(CARGO)" tools/dist

licences:
	@CARGO="$(CARGO)" tools/third-party list

packages:
	@tools/need-packages packages.txt

test: cargo packages sources
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --all-targets --quiet -- -D warnings
	shellcheck .ci/run ci/compare.sh targets/sources/fetch src/commands/completions/kernmark.bash \
		$(shell grep -slE '^#!.*sh$$' tools/* agent/ports/*/*)
	tools/check-licences
	tools/third-party check
	tools/run-tests $(CARGO) --locked
	tools/fresh-catalog $(or $(CARGO_TARGET_DIR),target)/debug/kernmark

bench: build
	$(CARGO) bench --locked --quiet --bench compare
	$(CARGO) bench --locked --quiet --bench verdict
	$(CARGO) bench --locked --quiet --bench alarms
	$(CARGO) bench --locked --quiet --bench history
	$(CARGO) bench --locked --quiet --bench import
	$(CARGO) bench --locked --quiet --bench spread
	$(CARGO) bench --locked --quiet --bench store
	$(CARGO) bench --locked --quiet --bench trace

catalog: build
	$(built) list --format md > doc/catalog.md

linux-releases: build
	$(if $(CONTINUE),,rm -rf target/linux-releases)
	KERNMARK=$(built) tools/linux-pages.py measure releases doc/linux-releases.json
	@$(MAKE) --no-print-directory linux-where

linux-where: build
	$(if $(CONTINUE),,rm -f target/linux-releases/*-why.km)
	KERNMARK=$(built) tools/linux-pages.py where doc/linux-releases.json
	@$(MAKE) --no-print-directory linux-pages

linux-exact: build
	$(if $(CONTINUE)$(A),,rm -rf target/linux-exact)
	KERNMARK=$(built) LINE="$(LINE)" tools/linux-pages.py measure exact doc/linux-exact.json $(A) $(B)
	@$(MAKE) --no-print-directory linux-pages

linux-pages:
	tools/linux-pages.py page releases doc/linux-releases.json > doc/linux-releases.md
	tools/linux-pages.py picture doc/linux-releases.json > doc/linux-releases.svg
	tools/linux-pages.py page exact doc/linux-exact.json > doc/linux-exact.md

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

.PHONY: run build sources cargo install uninstall deb dist licences packages test bench catalog linux-releases linux-where linux-exact linux-pages doc clean
