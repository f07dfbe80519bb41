# The front door; CMakeLists.txt builds. Variables: CC (compiler), BUILD (folder), JOBS (compilers
# at a time), TEST_JOBS (tests at a time); PREFIX and DESTDIR for install and uninstall. The tests
# are built in BUILD, with assertions and -Werror; what is installed is built in BUILD-release,
# without either.
BUILD ?= build
JOBS ?= $(shell nproc)
# Most tests wait for a lease or a server, so two share a processor.
TEST_JOBS ?= $(shell expr 2 '*' $(JOBS))
FUZZ_SECONDS ?= 300
FAULTS_SECONDS ?= 1200
PREFIX ?= /usr/local

# make's own default of CC is not a choice of the user's.
ifneq ($(origin CC),default)
compiler := -DCMAKE_C_COMPILER=$(CC)
endif

configure = cmake -S . -B $(1) -G Ninja $(compiler) $(2) >/dev/null
for_tests = -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLATCHKEY_BUILD_TESTS=ON -DLATCHKEY_WERROR=ON
for_release = -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=$(PREFIX)"
build = $(call configure,$(1),$(2)) && cmake --build $(1) -j $(JOBS)
check = ctest --test-dir $(1) --output-on-failure -j $(TEST_JOBS)

.PHONY: all demo install uninstall test test-asan test-tsan test-mutants faults bench bench-quick bench-parts bench-build fuzz format clean help packages

all: ## build the library, the command and their pages into build-release/
	$(call build,$(BUILD)-release,$(for_release))

demo: packages ## install missing packages, build, and watch the lock at work
	@$(call build,$(BUILD)-release,$(for_release)) --target demo_program
	@tests/support/with-local-server $(BUILD)-release/demo/latchkey-demo

install: all ## install the library, the command and their pages into PREFIX (/usr/local), below DESTDIR
	@scripts/install-tree install $(BUILD)-release "$(PREFIX)" "$(DESTDIR)"

uninstall: ## remove what `make install` with the same PREFIX and DESTDIR installed
	@scripts/install-tree uninstall $(BUILD)-release "$(PREFIX)" "$(DESTDIR)"

test: packages ## install missing packages, build, run all tests
	$(call build,$(BUILD),$(for_tests))
	$(call check,$(BUILD))

test-asan: packages ## the same under the address and undefined behaviour sanitizers
	$(call build,$(BUILD)-asan,$(for_tests) -DLATCHKEY_SANITIZE=address)
	$(call check,$(BUILD)-asan)

test-tsan: packages ## the same under the thread sanitizer
	$(call build,$(BUILD)-tsan,$(for_tests) -DLATCHKEY_SANITIZE=thread)
	$(call check,$(BUILD)-tsan)

test-mutants: packages ## break the library in more than 40 ways; the tests must notice each (half an hour)
	tests/mutants/test-mutants . $(BUILD)-mutants $(MUTANTS)

faults: packages ## clients on all topologies while every kind of fault strikes, for 20 minutes; prints a table
	$(call build,$(BUILD),$(for_tests)) --target faults
	$(BUILD)/tests/faults/faults --seconds $(FAULTS_SECONDS)

bench: bench-build ## latchkey beside its peers, on one server (half an hour); see bench/README.md
	LATCHKEY_BENCH_BUILD=$(abspath $(BUILD)-bench) python3 bench/compare

bench-quick: bench-build ## the same in less than three minutes, into build-bench/results
	LATCHKEY_BENCH_BUILD=$(abspath $(BUILD)-bench) python3 bench/compare --quick \
	    --results $(BUILD)-bench/results

bench-parts: bench-build ## the library, the scripts, the core and the command against their floors
	cmake --build $(BUILD)-bench --target bench

bench-build: packages
	@scripts/install-packages bench/packages
	$(call build,$(BUILD)-bench,-DCMAKE_BUILD_TYPE=Release -DLATCHKEY_BUILD_TESTS=ON)

fuzz: packages ## fuzz for FUZZ_SECONDS (300) each
	cmake -S . -B $(BUILD)-fuzz -G Ninja -DCMAKE_C_COMPILER=clang $(for_tests) \
	    -DLATCHKEY_SANITIZE=address -DLATCHKEY_LIBFUZZER=ON -DLATCHKEY_FUZZ_SECONDS=$(FUZZ_SECONDS) >/dev/null
	cmake --build $(BUILD)-fuzz -j $(JOBS) --target fuzz

format: ## lay out the C and C++ sources with clang-format
	git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp' | xargs clang-format -i

clean: ## remove what was built
	rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

packages:
	@scripts/install-packages
