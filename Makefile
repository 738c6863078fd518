# Downbeat, for people: `make run` and `make test` on a fresh machine. What builds is CMakeLists.txt.

MPI    ?= openmpi
PREFIX ?= /usr/local
WERROR ?= ON

MPIS := openmpi mpich
ifeq ($(filter $(MPI),$(MPIS)),)
$(error MPI is '$(MPI)'; valid are: $(MPIS))
endif

# Ranks of `make run`: one per core that this process may use, at least 2.
RANKS = $(shell python3 -c 'import os; print(max(2, len(os.sched_getaffinity(0))))')

comma := ,
C_FILES      = $(shell find lib bench tests -name '*.[ch]' -o -name '*.cc')
PYTHON_TOOLS = $(shell grep -lE -d skip '^\#!.*python3' tools/* tests/hosts/*)
PYTHON_FILES = $(PYTHON_TOOLS) $(shell find tools tests bench -name '*.py')
VENV         = .venv/bin
CTEST        = ctest --output-on-failure --no-tests=error --test-dir

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test bench bench-clocks bench-sync bench-overhead build install format lint clean
.PHONY: setup-run setup-bench setup-test setup-run-openmpi setup-run-mpich build-sanitize pytest $(foreach m,$(MPIS),build-$m ctest-$m) ctest-sanitize

help:
	@echo 'make run           install what is missing, build, measure barrier, bcast, reduce and allreduce on this machine'
	@echo 'make test          install what is missing, build and run all tests, under Open MPI and MPICH'
	@echo 'make bench         measure Downbeat itself against MPI_Barrier, under each MPI library'
	@echo 'make bench-clocks  measure the clock synchronization schemes against true time, half an hour'
	@echo 'make bench-sync    measure what the choice of a barrier does to latencies, with and without MPIX_Harmonize'
	@echo 'make bench-overhead  compare the batch scheme of downbeat-bench with a plain loop around the call'
	@echo 'make build         build into build/$(MPI)'
	@echo 'make install       install from there to [DESTDIR]$(PREFIX)'
	@echo 'make format        format C, C++ and Python'
	@echo 'make lint          check format and run static analysis'
	@echo 'make clean         remove build/'
	@echo
	@echo 'Variables: MPI=openmpi|mpich, PREFIX=/usr/local, DESTDIR=, WERROR=ON|OFF (warnings are errors)'

# Only what is needed: the tests are not built.
run: setup-run-$(MPI)
	$(call compile,build/$(MPI),-DDOWNBEAT_MPI=$(MPI),downbeat-bench)
	tools/launch --mpi $(MPI) -n $(RANKS) build/$(MPI)/bin/downbeat-bench barrier bcast reduce allreduce -m 8:64K \
	    --sync mpi_barrier,harmonize -o build/downbeat.nc

test: setup-test build-openmpi build-mpich build-sanitize lint ctest-openmpi ctest-mpich ctest-sanitize pytest

bench: setup-bench build-openmpi build-mpich
	tools/bench

bench-clocks: setup-bench build-$(MPI)
	tools/bench-clocks --mpi $(MPI)

bench-sync: setup-bench build-$(MPI)
	tools/bench-sync --mpi $(MPI)

bench-overhead: setup-bench build-$(MPI)
	tools/launch --mpi $(MPI) -n 2 build/$(MPI)/bin/overhead

setup-run setup-bench setup-test: setup-%:
	@tools/setup $*

setup-run-openmpi: setup-run
setup-run-mpich: setup-bench

build: build-$(MPI)

# $(call compile,tree,options,targets): one build tree per MPI library; all targets if none is named; quiet unless it
# fails.
define compile
	@echo 'building $(1)'
	@mkdir -p $(1)
	@cmake -S . -B $(1) -G Ninja $(2) -DDOWNBEAT_WERROR=$(WERROR) -DCMAKE_INSTALL_PREFIX='$(PREFIX)' \
	    >$(1)/configure.log 2>&1 || { cat $(1)/configure.log; exit 1; }
	@ninja --quiet -C $(1) $(3)
endef

build-openmpi build-mpich: build-%:
	$(call compile,build/$*,-DDOWNBEAT_MPI=$*)

build-sanitize:
	$(call compile,build/openmpi-sanitize,-DDOWNBEAT_MPI=openmpi -DDOWNBEAT_SANITIZE=address$(comma)undefined \
	    -DDOWNBEAT_BUILD_BENCH=OFF)

ctest-openmpi ctest-mpich: ctest-%: build-%
	$(CTEST) build/$*

ctest-sanitize: build-sanitize
	$(CTEST) build/openmpi-sanitize

pytest: setup-test build-openmpi build-mpich
	$(VENV)/pytest tools tests

install: build
	@DESTDIR='$(DESTDIR)' cmake --install build/$(MPI)

format: setup-test
	@clang-format -i $(C_FILES)
	@$(VENV)/ruff check --quiet --fix $(PYTHON_FILES)
	@$(VENV)/ruff format --quiet $(PYTHON_FILES)

# clang-tidy over the files of the build tree whose path matches $(1): what is installed, not the tests, which run under
# sanitizers. The analyzer costs minutes on the C++ of the bench, which leaves memory to its containers.
define tidy
	@run-clang-tidy -quiet -p build/openmpi $(2) '$(1)' >build/tidy.log 2>&1 || \
	    { grep -vE ' -quiet |warnings? generated' build/tidy.log; exit 1; }
endef

lint: setup-test build-openmpi
	@echo 'checking format, clang-tidy, ruff, mypy'
	@clang-format --dry-run --Werror $(C_FILES)
	$(call tidy,/lib/src/)
	$(call tidy,/bench/src/,-checks=-cert-*$(comma)-clang-analyzer-*)
	@$(VENV)/ruff check --quiet $(PYTHON_FILES)
	@$(VENV)/ruff format --quiet --check $(PYTHON_FILES)
	@$(VENV)/mypy --no-error-summary $(PYTHON_FILES)

clean:
	rm -rf build
