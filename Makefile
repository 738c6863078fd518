# Downbeat, for people: `make run` and `make test` on a fresh machine. What builds is CMakeLists.txt.

CHOSEN := $(MPI)
MPI    ?= openmpi
PREFIX ?= /usr/local
WERROR ?= ON

# Those of Debian, tested with everything there is, and those that tools/setup fetches, tested with less.
DEBIAN_MPIS  := openmpi mpich
FETCHED_MPIS := openmpi5 mpich5 intelmpi
MPIS         := $(DEBIAN_MPIS) $(FETCHED_MPIS)
ifeq ($(filter $(MPI),$(MPIS)),)
$(error MPI is '$(MPI)'; valid are: $(MPIS))
endif

# Ranks of `make run`: one per core that this process may use, at least 2.
RANKS = $(shell python3 -c 'import os; print(max(2, len(os.sched_getaffinity(0))))')

comma := ,
C_FILES      = $(shell find lib bench tests examples -name '*.[ch]' -o -name '*.cc')
PYTHON_TOOLS = $(shell grep -lE -d skip '^\#!.*python3' tools/* tests/hosts/*)
PYTHON_FILES = $(PYTHON_TOOLS) $(shell find python tools tests bench -name '*.py')
VENV         = .venv/bin
CTEST        = ctest --parallel $(shell nproc) --output-on-failure --no-tests=error --test-dir

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test validate bench bench-clocks bench-matrix bench-overhead bench-statistics bench-summary bench-sync build install format lint clean
.PHONY: setup-build setup-bench setup-lint setup-test test-all test-one build-sanitize build-abi pytest
.PHONY: $(foreach m,$(MPIS),build-$m ctest-$m ctest-brief-$m) ctest-sanitize ctest-brief-abi

help:
	@echo 'make run            install what is missing, build, measure barrier, bcast, reduce and allreduce, write a report'
	@echo 'make test           install what is missing, build and run all tests, under all five MPI libraries; MPI=: under one'
	@echo 'make bench          measure Downbeat itself against MPI_Barrier, under Open MPI and MPICH'
	@echo 'make bench-clocks   measure the clock synchronization schemes against true time, half an hour'
	@echo 'make bench-matrix   measure reduce algorithms of Open MPI after each of its barrier algorithms'
	@echo 'make bench-sync     measure what the choice of a barrier does to latencies, with and without MPIX_Harmonize'
	@echo 'make bench-overhead compare the batch scheme of downbeat-bench with a plain loop around the call'
	@echo 'make bench-statistics simulate what intervals and verdicts are worth, minutes'
	@echo 'make bench-summary  measure how fast downbeat summarises the file of a large launch'
	@echo 'make validate       look at the results of every collective on 1 to 8 ranks, under all five MPI libraries; MPI=: one'
	@echo 'make build          build into build/$(MPI)'
	@echo 'make install        install from there to [DESTDIR]$(PREFIX)'
	@echo 'make format         format C, C++ and Python'
	@echo 'make lint           check format and run static analysis'
	@echo 'make clean          remove build/'
	@echo
	@echo 'Variables: MPI=openmpi|mpich|openmpi5|mpich5|intelmpi, PREFIX=/usr/local, DESTDIR=, WERROR=ON|OFF (warnings are errors)'

# Only what is needed: the tests are not built.
run: setup-run
	$(call compile,build/$(MPI),-DDOWNBEAT_MPI=$(MPI),downbeat-bench)
	@rm -rf build/run
	$(VENV)/downbeat run barrier bcast reduce allreduce --sizes 8:64K --sync mpi_barrier,harmonize \
	    --mpi $(MPI) --ranks $(RANKS) --output build/run
	$(VENV)/downbeat report build/run

# Under every library, unless one is chosen.
test: $(if $(CHOSEN),test-one,test-all)

test-all: setup-test $(foreach m,$(MPIS),build-$m) build-sanitize build-abi lint \
    ctest-openmpi $(foreach m,mpich $(FETCHED_MPIS),ctest-brief-$m) ctest-sanitize ctest-brief-abi pytest

test-one: setup-test build-$(MPI) ctest-$(MPI)
	$(VENV)/pytest python tools tests --mpi $(MPI)

# The library's targets are those of Open MPI and MPICH as Debian has them.
bench: setup-bench $(foreach m,$(DEBIAN_MPIS),build-$m)
	tools/bench

bench-clocks: setup-build build-$(MPI)
	tools/bench-clocks --mpi $(MPI)

bench-sync: setup-build build-$(MPI)
	tools/bench-sync --mpi $(MPI)

# Schuchart 2023, Fig. 2, in the names of Open MPI. Ranks that share a processor cannot start within the usual tolerance;
# they get 100 us, and a warning that says what such figures are worth.
bench-matrix: setup-build
	$(call compile,build/openmpi,-DDOWNBEAT_MPI=openmpi,downbeat-bench)
	@for ranks in 2 4; do \
	    [ $$ranks -le $$(nproc) ] && tolerance= || tolerance='--tolerance 1e-4'; \
	    tools/launch --mpi openmpi -n $$ranks --timeout 80 build/openmpi/bin/downbeat-bench reduce -m 8 -r 300 \
	        --algorithm reduce=linear,binary,binomial,in_order_binary \
	        --barrier-algorithm default,linear,double_ring,recursive_doubling,bruck,tree \
	        --sync mpi_barrier,harmonize --format matrix $$tolerance -o build/matrix-$$ranks.nc; \
	    status=$$?; [ $$status = 0 ] || [ $$status = 3 ] || exit $$status; \
	done

bench-statistics:
	@tools/setup downbeat
	@$(VENV)/python tools/bench-statistics

# 10^8 entries and exits.
bench-summary:
	@tools/setup downbeat
	@$(VENV)/python tools/bench-summary

bench-overhead: setup-build build-$(MPI)
	tools/launch --mpi $(MPI) -n 2 build/$(MPI)/bin/overhead

# Every collective in every form on 1 to 8 ranks, under each library or the one that is chosen; minutes under MPICH 4.
validate: setup-test $(foreach m,$(or $(CHOSEN),$(MPIS)),build-$m)
	tools/validate --mpi $(or $(CHOSEN),$(MPIS))

setup-build:
	@tools/setup build $(MPI)

setup-run:
	@tools/setup build downbeat $(MPI)

setup-bench:
	@tools/setup build $(DEBIAN_MPIS)

setup-lint:
	@tools/setup build downbeat test openmpi

setup-test:
	@tools/setup build downbeat test $(or $(CHOSEN),$(MPIS))

build: build-$(MPI)

# $(call configure,tree,options): quiet unless it fails.
define configure
	@mkdir -p $(1)
	@cmake -S . -B $(1) -G Ninja $(2) -DDOWNBEAT_WERROR=$(WERROR) -DCMAKE_INSTALL_PREFIX='$(PREFIX)' \
	    >$(1)/configure.log 2>&1 || { cat $(1)/configure.log; exit 1; }
endef

# $(call compile,tree,options,targets): one build tree per MPI library; all targets if none is named.
define compile
	@echo 'building $(1)'
	$(call configure,$(1),$(2) -DDOWNBEAT_PRECOMPILE=ON)
	@ninja --quiet -C $(1) $(3)
endef

$(foreach m,$(MPIS),build-$m): build-%:
	$(call compile,build/$*,-DDOWNBEAT_MPI=$*)

build-abi:
	$(call compile,build/abi,-DDOWNBEAT_MPI=mpich5 -DDOWNBEAT_MPI_ABI=ON -DDOWNBEAT_BUILD_BENCH=OFF)

# The library, and what of the bench needs no MPI: the rest takes minutes to build.
build-sanitize:
	$(call compile,build/openmpi-sanitize,-DDOWNBEAT_MPI=openmpi -DDOWNBEAT_SANITIZE=address$(comma)undefined \
	    -DDOWNBEAT_BUILD_BENCH=ON,lib/tests/all downbeat-bench-tests)

$(foreach m,$(MPIS),ctest-$m): ctest-%: build-%
	$(CTEST) build/$*

$(foreach m,mpich $(FETCHED_MPIS) abi,ctest-brief-$m): ctest-brief-%: build-%
	$(CTEST) build/$* --label-regex brief

ctest-sanitize: build-sanitize
	$(CTEST) build/openmpi-sanitize --label-exclude many --exclude-regex '^bench-(elements|sampler)'

# Two at a time, a file on one process, where next to nothing is measured and processes mostly wait; the rest needs the
# processors for itself.
pytest: setup-test $(foreach m,$(MPIS),build-$m) build-abi
	$(VENV)/pytest --numprocesses 2 --dist loadfile python tools tests/abi tests/install tests/messages
	$(VENV)/pytest tests/bench tests/hosts

install: build
	@DESTDIR='$(DESTDIR)' cmake --install build/$(MPI)

format: setup-lint
	@clang-format -i $(C_FILES)
	@$(VENV)/ruff check --quiet --fix $(PYTHON_FILES)
	@$(VENV)/ruff format --quiet $(PYTHON_FILES)

# clang-tidy over the files whose path matches $(1): what is installed, not the tests, which run under sanitizers. The
# analyzer costs minutes on the C++ of the bench, which leaves memory to its containers; a quarter of the rest would go
# into looking for reserved names. Nothing is built for it, and no header precompiled, so that includes that are missing
# are found.
define tidy
	@run-clang-tidy -quiet -p build/lint $(2) '$(1)' >build/tidy.log 2>&1 || \
	    { grep -vE ' -quiet |warnings? generated' build/tidy.log; exit 1; }
endef

lint: setup-lint
	@echo 'checking format, clang-tidy, ruff, mypy'
	$(call configure,build/lint,-DDOWNBEAT_MPI=openmpi -DDOWNBEAT_BUILD_TESTS=OFF)
	@clang-format --dry-run --Werror $(C_FILES)
	$(call tidy,/lib/src/)
	$(call tidy,/bench/src/,-checks=-cert-*$(comma)-clang-analyzer-*$(comma)-bugprone-reserved-identifier)
	@$(VENV)/ruff check --quiet $(PYTHON_FILES)
	@$(VENV)/ruff format --quiet --check $(PYTHON_FILES)
	@$(VENV)/mypy --no-error-summary $(PYTHON_FILES)

clean:
	rm -rf build
