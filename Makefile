# Downbeat's front door: `make run` and `make test` work on a fresh machine, `make help` says what else there is.
# CMakePresets.json lists the build trees, CMakeLists.txt says what is built in them, tools/setup installs what is missing.

CHOSEN := $(MPI)
MPI    ?= openmpi
PREFIX ?= /usr/local
WERROR ?= ON
OUTPUT := $(or $(OUTPUT),results/$(shell date +%Y-%m-%d-%H%M%S))

DEBIAN_MPIS := openmpi mpich
MPIS        := $(DEBIAN_MPIS) openmpi5 mpich5 intelmpi
# No library: simulates thousands of ranks.
SIMULATOR   := simgrid
ifeq ($(filter $(MPI),$(MPIS) $(SIMULATOR)),)
$(error MPI is '$(MPI)'; valid are: $(MPIS) $(SIMULATOR))
endif

TREES       := $(MPIS) $(SIMULATOR) sanitize sanitize-nightly tsan abi

VENV  = .venv/bin
# One per core that this process may use, at least two.
RANKS = $(shell python3 -c 'import os; print(max(2, len(os.sched_getaffinity(0))))')

# MPICH 5 and Intel MPI have MPICH's ABI: `make test-all` compiles the C++ that needs MPI for MPICH 4, and links it again for
# them. With MPI=, and in everything that is installed, it is compiled with the library's own header.
FROM_mpich5   = $(if $(CHOSEN),,$(CURDIR)/build/mpich)
FROM_intelmpi = $(FROM_mpich5)

# $(call configure,preset): quiet unless it fails.
define configure
	@mkdir -p build/$(1)
	@cmake --preset $(1) -DDOWNBEAT_WERROR=$(WERROR) -DCMAKE_INSTALL_PREFIX='$(PREFIX)' \
	    -DDOWNBEAT_BENCH_FROM='$(FROM_$(1))' \
	    >build/$(1)/configure.log 2>&1 || { cat build/$(1)/configure.log; exit 1; }
endef

# tools/stages shows how far a build is, and builds no more than is tested.
QUIET ?= --quiet
TARGETS :=

# $(call build,preset,targets): all targets if none is named. A preset x-nightly builds other targets in the tree of preset x.
define build
	@echo 'building build/$(1:-nightly=)'
	$(call configure,$(1:-nightly=))
	@cmake --build --preset $(1) $(if $(2),--target $(2)) -- $(QUIET)
endef

# $(call compile,preset,target,words): on a terminal ninja counts, after these words.
define compile
	@NINJA_STATUS='$(3)compiling, %f of %t: ' cmake --build --preset $(1) --target $(2) -- $(if $(MAKE_TERMOUT),,$(QUIET))
endef

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: $(shell sed -n 's/^\([a-z][a-z-]*\):.*/\1/p' Makefile) $(TREES:%=build-%)

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "make %-17s %s\n", $$1, $$2}'
	@echo
	@echo 'Variables: MPI=openmpi|mpich|openmpi5|mpich5|intelmpi|simgrid, PREFIX=/usr/local, DESTDIR=, WERROR=ON|OFF (warnings are errors),'
	@echo 'OUTPUT=results/<date and time> (of make run; a directory of an earlier run is continued)'

# Builds only what it needs: no tests.
run: ## install what is missing, build, measure barrier, bcast, reduce and allreduce, write a report
	@echo 'step 1 of 4: installing what is missing'
	@tools/setup build downbeat $(MPI)
	@echo 'step 2 of 4: compiling, minutes the first time'
	$(call configure,$(MPI))
	$(call compile,$(MPI),downbeat-bench,step 2 of 4: )
	@echo 'step 3 of 4: measuring, about a minute'
	@$(VENV)/downbeat run barrier bcast reduce allreduce --sizes 8:1M --sync mpi_barrier,harmonize \
	    --mpi $(MPI) --ranks $(RANKS) --output $(OUTPUT)
	@echo 'step 4 of 4: writing the report'
	@$(VENV)/downbeat report $(OUTPUT)
	@echo 'one page, which needs no network: xdg-open $(OUTPUT)/report.html, or copy it to another machine'

dev: ## in a warm tree: build, run the tests without MPI, and those of what differs from the last commit
test: ## install what is missing, build for one MPI library, Open MPI or MPI=, run its brief tests, check the format
test-all: ## run what make test leaves out: all five MPI libraries, sanitizers, installation, site, browser
nightly: ## run what test-all leaves out: analyzer, valgrind, thread sanitizer, simulations, many more inputs, faults and conditions
dev test test-all nightly:
	@tools/stages $@ $(if $(CHOSEN),--mpi $(CHOSEN))

fuzz: setup-test ## fuzz the C and C++ parsers with clang's libFuzzer, 10^6 inputs each
	@tools/setup fuzz
	$(call build,fuzz)
	@ctest --preset fuzz

coverage: setup-test ## report which lines, branches and functions the tests never run: build/coverage/
	@tools/setup coverage
	$(call build,coverage)
	@tools/coverage

mutation: setup-lint ## plant defects in the code, one at a time, and list those that no test notices, hours; MUTATION='lib --mutants 60'
	$(VENV)/python tools/mutate $(MUTATION)

validate: setup-all $(foreach m,$(or $(CHOSEN),$(MPIS)),build-$m) ## check the results of every collective on 1 to 8 ranks, under all five MPI libraries; MPI=: one
	$(VENV)/pytest -q $(foreach m,$(or $(CHOSEN),$(MPIS)),$(foreach n,1 2 3 4 5 8,'tests/bench/test_each_library.py::test_every_collective_is_right[$m-$n]'))

bench: setup-bench $(foreach m,$(DEBIAN_MPIS),build-$m) ## measure Downbeat itself against MPI_Barrier, under Open MPI and MPICH, and downbeat.mpi against C
	$(VENV)/python -m benchmarks.library

bench-scale: setup-run ## measure starts of 128 to 16,384 processes with clocks of their own, in virtual time, about half an hour on two processors; SCALE='--processes 16,128 --skew 15e-6,300e-6 --seconds 10', SCALE='--random 1000 --seed 1'
	$(call build,$(MPI),scale)
	@$(VENV)/python -m benchmarks.scale --mpi $(MPI) $(SCALE)

bench-hosts: setup-bench $(foreach m,$(DEBIAN_MPIS),build-$m) ## measure starts on hosts with clocks of their own, made of namespaces, 12 minutes; needs root; HOSTS='--hosts 2 --runs 1'
	@$(VENV)/python -m benchmarks.starts_on_hosts $(HOSTS)

bench-faults: setup-run build-$(MPI) ## make faults, again and again: what Downbeat promises, and what happens, some three hours; FAULTS='-k run-killed --tries 20'
	$(VENV)/pytest -q -rP --mpi $(MPI) -m nightly tests/faults $(FAULTS)

bench-clocks: setup-run build-$(MPI) ## measure the clock synchronization schemes against true time, half an hour
	$(VENV)/python -m benchmarks.clocks --mpi $(MPI)

bench-sync: setup-run build-$(MPI) ## measure what the choice of a barrier does to latencies, with and without MPIX_Harmonize
	$(VENV)/python -m benchmarks.sync --mpi $(MPI)

bench-overhead: setup-run build-$(MPI) ## compare the batch scheme of downbeat-bench with a plain loop around the call
	tools/launch --mpi $(MPI) -n 2 build/$(MPI)/bin/overhead

bench-preload: setup-bench $(foreach m,$(DEBIAN_MPIS),build-$m) ## measure what libdownbeat-preload costs a call, and record 10^8 calls
	@$(VENV)/python -m benchmarks.preload

bench-statistics: setup-run ## simulate how often intervals and verdicts are right, minutes
	$(call build,$(MPI),downbeat-bench-simulation)
	@$(VENV)/python -m tests.statistics

bench-summary: ## measure how fast downbeat summarizes the file of a large launch, and in what memory: 10^8 entries and exits; SUMMARY='--cells 500': 10^9
	@tools/setup downbeat
	@$(VENV)/python -m benchmarks.summary $(SUMMARY)

build: build-$(MPI) ## build into build/$(MPI)

# Builds only what is installed: no tests.
install: export INTO := $(PREFIX)
install: ## build what is installed, and install it to [DESTDIR]$(PREFIX)
	@LC_ALL=C; case "$$INTO" in *[!A-Za-z0-9/._+=@~-]*) echo "make install: flags of compilers and pkg-config cannot have" \
	    "the path '$$INTO'; give a PREFIX of ASCII letters, digits and /._+=@~-" >&2; exit 2;; esac
	@echo 'building build/$(MPI)'
	$(call configure,$(MPI))
	$(call compile,$(MPI),installed)
	@DESTDIR='$(DESTDIR)' cmake --install build/$(MPI) >build/$(MPI)/install.log || { cat build/$(MPI)/install.log; exit 1; }
	@printf '%s\n' 'installed into $(DESTDIR)$(PREFIX); in your shell:' '  export PATH=$(PREFIX)/bin:$$PATH' \
	    "  export PKG_CONFIG_PATH=$$(sed -n 's,/downbeat\.pc$$,,p' build/$(MPI)/install_manifest.txt)" \
	    'then: mpicc program.c $$(pkg-config --cflags --libs downbeat)'

uninstall: ## remove from [DESTDIR] what the last make install wrote there, and directories that are empty then
	@sed 's,^,$(DESTDIR),' build/$(MPI)/install_manifest.txt | xargs -d '\n' rm -fv
	@sed 's,^,$(DESTDIR),; s,/[^/]*$$,,' build/$(MPI)/install_manifest.txt | sort -ru | \
	    xargs -d '\n' rmdir -p --ignore-fail-on-non-empty 2>/dev/null || true

dist: ## write the last commit as build/dist/downbeat-<version>.tar.gz, the same bits every time, and print its checksum
	@tools/dist

wheel: ## write the wheel into build/dist: downbeat-bench and libraries for each ABI of MPI, and the source for `downbeat build`; WHEEL_GLIBC=2.28: for systems with that C library
	@tools/setup build downbeat openmpi mpich mpich5 $(if $(WHEEL_GLIBC),wheel)
	@rm -rf build/wheel/root
	@packaging/wheel/build-binaries build/wheel/root $(WHEEL_GLIBC)
	@mkdir -p build/dist
	@DOWNBEAT_WHEEL_HEADERS=1 DOWNBEAT_WHEEL_ROOT=build/wheel/root $(VENV)/python -m pip --quiet wheel --no-deps --no-build-isolation --wheel-dir build/dist .
	@echo "next: pip install $$(ls build/dist/*.whl)"

docs: setup-docs ## build the documentation as a site, build/docs/index.html; a broken link is an error
	@$(VENV)/sphinx-build -q -W --keep-going -b html -c docs -d build/docs-cache . build/docs
	@echo build/docs/index.html

man: ## write manual pages of the commands, from their help, into build/man; a later make install installs them
	@tools/setup build downbeat man $(MPI)
	$(call configure,$(MPI))
	$(call compile,$(MPI),downbeat-bench)
	@tools/man build/$(MPI)/bin/downbeat-bench
	@echo 'next: man -M build/man downbeat, or make install'

format: setup-lint ## format C, C++ and Python
	@tools/lint --fix

lint lint-brief lint-all: setup-lint
	$(call configure,lint)
	@tools/lint $(if $(findstring -,$@),-$(@:lint%=%))

lint: ## check rooms, format and spelling, run static analysis

clean: ## remove build/, not results/
	rm -rf build

# All groups together first, so that those of one directory agree.
COMPILE = $(VENV)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links $(if $(filter project,$(1)),pyproject.toml) $(addprefix --group ,$(1))
LOCKED = $(patsubst tools/lock/%.txt,%,$(wildcard tools/lock/*.txt))
lock: ## write tools/lock: the newest Python packages that pyproject.toml allows, with hashes; what tools/setup installs from then on
	@tools/setup lock
	@mkdir -p build
	@$(call COMPILE,$(LOCKED)) --output-file build/lock.txt >build/lock.log
	@$(foreach group,$(LOCKED),$(call COMPILE,$(group)) --constraints build/lock.txt --generate-hashes \
	    --output-file tools/lock/$(group).txt >>build/lock.log &&) true

setup-run:
	@tools/setup build downbeat test $(MPI)

setup-bench:
	@tools/setup build downbeat test languages $(DEBIAN_MPIS)

setup-docs:
	@tools/setup docs

setup-lint:
	@tools/setup build downbeat docs lint test languages openmpi

setup-test:
	@tools/setup build downbeat test openmpi

setup-all:
	@tools/setup build downbeat $(or $(CHOSEN),$(MPIS))

$(TREES:%=build-%): build-%:
	$(call build,$*,$(TARGETS))

ifeq ($(CHOSEN),)
build-mpich5 build-intelmpi: build-mpich
endif
