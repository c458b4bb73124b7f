# SPDX-License-Identifier: Apache-2.0
# The front door: everything a person types. CMake and Ninja do the work; `make help` lists the targets.
BUILD  ?= build
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
DESTDIR ?=
CMAKE_FLAGS ?=
# Extra arguments for ctest, for instance TEST_ARGS="-R softnic".
TEST_ARGS ?=
# What `make replay` plays: folders or files.
CAPTURES ?= tests/wire/vectors
# Options of scripts/compat.sh, for instance COMPAT_ARGS="--group perftest".
COMPAT_ARGS ?=

BUILD_IN = JOBS=$(JOBS) scripts/build.sh
CONFIGURE = scripts/configure.sh
RUN_TESTS = JOBS=$(JOBS) scripts/run-tests.sh
SANITIZERS = asan ubsan tsan
SANITIZE_asan = address,undefined
SANITIZE_ubsan = undefined
SANITIZE_tsan = thread
# What lives by threads, small enough to be built and run under ThreadSanitizer with every change.
THREADED = verbs_thread_test verbs_event_test verbs_event_async_test verbs_object_test verbs_ext_window_test verbs_process_test \
    softnic_thread_test softnic_lock_test softnic_shm_test softnic_far_test softnic_event_test test_shm_ring test_shm_process \
    test_shm_hostile wires_thread_test wires_share_test rdmacm_test dropin_dv

.DEFAULT_GOAL := all
.PHONY: fuzz all help deps demo test compat interop replay bench bench-scale bench-alternatives $(SANITIZERS) tsan-threads aarch64 install lint format clean distclean newcomer

all: ## build everything into build/
	@scripts/install-deps.sh --check build
	@$(CONFIGURE) $(BUILD) -DCMAKE_INSTALL_PREFIX="$(PREFIX)" $(CMAKE_FLAGS)
	@$(BUILD_IN) $(BUILD)

deps: ## install the Debian packages that building, testing and the demo need
	@scripts/install-deps.sh build demo

demo: deps ## two processes whose kernels put data through the software NIC; a table and a picture
	@$(CONFIGURE) $(BUILD) -DCMAKE_INSTALL_PREFIX="$(PREFIX)" $(CMAKE_FLAGS)
	@$(BUILD_IN) $(BUILD) gdaki softnic # the tests can wait
	@scripts/demo.sh $(BUILD)

test: deps ## build and run every test
	@$(MAKE) --no-print-directory all
	@$(RUN_TESTS) $(BUILD) $(TEST_ARGS)

compat: deps ## unmodified programs (perftest, pyverbs, UCX, OpenMPI...) on softnic; a table. COMPAT_ARGS="--only send"
	@scripts/install-deps.sh compat
	@$(MAKE) --no-print-directory all
	@scripts/compat.sh $(BUILD) $(COMPAT_ARGS)

interop: deps ## every operation live with Linux's rdma_rxe in an emulated machine: IPv4, IPv6, faults (docs/wires.md)
	@scripts/install-deps.sh interop
	@$(MAKE) --no-print-directory all
	@scripts/interop-rxe.sh $(BUILD)

replay: ## play captures of RoCEv2 exchanges to the engine (docs/wires.md). CAPTURES=folder
	@scripts/install-deps.sh --check build
	@$(CONFIGURE) $(BUILD) -DCMAKE_INSTALL_PREFIX="$(PREFIX)" $(CMAKE_FLAGS)
	@$(BUILD_IN) $(BUILD) replay_captures
	@$(BUILD)/tests/wire/replay_captures $(CAPTURES)

bench: deps ## benchmarks beside their floors (cache-line round trip, memcpy)
	@scripts/install-deps.sh bench
	@$(MAKE) --no-print-directory all
	@scripts/bench.sh $(BUILD)

bench-scale: deps ## what 2 to 20,000 connected queue pairs cost; a curve
	@scripts/install-deps.sh bench
	@$(MAKE) --no-print-directory all
	@scripts/bench-scale.sh $(BUILD)

bench-alternatives: deps ## softnic's wires beside UCX, libfabric and sockperf in the same run
	@scripts/install-deps.sh bench alternatives
	@$(MAKE) --no-print-directory all
	@scripts/bench-alternatives.sh $(BUILD)

# CUDA compiles are left out here: a sanitizer does not see device code, and nvcc costs minutes.
$(SANITIZERS): ## the test suite under AddressSanitizer, UBSan, ThreadSanitizer (build-asan/ and so on)
	@scripts/install-deps.sh build
	@$(CONFIGURE) build-$@ -DGDAKI_SANITIZE=$(SANITIZE_$@) -DGDAKI_CUDA=OFF $(CMAKE_FLAGS)
	@$(BUILD_IN) build-$@
	@$(RUN_TESTS) build-$@ $(TEST_ARGS)

empty :=
space := $(empty) $(empty)
tsan-threads: ## the tests that live by threads, and no others, under ThreadSanitizer (build-tsan/)
	@scripts/install-deps.sh build
	@$(CONFIGURE) build-tsan -DGDAKI_SANITIZE=thread -DGDAKI_CUDA=OFF $(CMAKE_FLAGS)
	@$(BUILD_IN) build-tsan $(THREADED)
	@$(RUN_TESTS) build-tsan -R '^($(subst $(space),|,$(strip $(THREADED))))(_eth|_ib)?$$' $(TEST_ARGS)

fuzz: ## libFuzzer on every fuzz target, FUZZ_SECONDS (10) each; FUZZ_TARGETS="wqe shm" for some of them
	@scripts/install-deps.sh build fuzz
	@scripts/fuzz.sh build-fuzz $(FUZZ_TARGETS)

aarch64: ## cross-build for 64-bit Arm; the unit tests run under qemu-user
	@scripts/install-deps.sh build aarch64
	@scripts/aarch64-sysroot.sh build-aarch64/sysroot
	@$(CONFIGURE) build-aarch64 -DGDAKI_CUDA=OFF \
	    -DCMAKE_TOOLCHAIN_FILE="$(CURDIR)/cmake/aarch64-linux-gnu.cmake" \
	    -DGDAKI_SYSROOT="$(CURDIR)/build-aarch64/sysroot" $(CMAKE_FLAGS)
	@$(BUILD_IN) build-aarch64
	@$(RUN_TESTS) build-aarch64 $(TEST_ARGS)

install: ## install below PREFIX (default /usr/local), with DESTDIR in front
	@scripts/install-deps.sh --check build
	@$(CONFIGURE) $(BUILD) -DCMAKE_INSTALL_PREFIX="$(PREFIX)" $(CMAKE_FLAGS)
	@$(BUILD_IN) $(BUILD) installed
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) >$(BUILD)/install.log || { cat $(BUILD)/install.log; exit 1; }
	@echo "installed below $(DESTDIR)$(PREFIX); the list is $(BUILD)/install_manifest.txt"

lint: ## shellcheck, codespell, house rules
	@scripts/install-deps.sh lint
	@scripts/check-shell.sh
	@scripts/check-spelling.sh
	@scripts/check-tree.sh

format: ## clang-format over the C, C++ and CUDA sources
	@git ls-files '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' | xargs clang-format -i

newcomer: ## prove the first ten minutes: a bare Debian 12 chroot runs make demo and make test (needs root, debootstrap)
	@scripts/newcomer-chroot.sh

clean: ## remove the build folders
	@rm -rf $(BUILD) $(addprefix build-,$(SANITIZERS)) build-aarch64 build-fuzz

distclean: clean

help: ## this list
	@awk -F':.*## ' '/^[a-z$$(][^:]*:.*## /{ t = $$1; if (t ~ /SANITIZERS/) t = "asan ubsan tsan"; printf "  make %-18s %s\n", t, $$2 }' Makefile
	@echo; echo "  variables: BUILD=build JOBS=nproc PREFIX=/usr/local DESTDIR= CMAKE_FLAGS= TEST_ARGS="
