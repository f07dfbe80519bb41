# The front door; CMakeLists.txt builds. Variables: CC (compiler), BUILD (folder), JOBS; PREFIX
# and DESTDIR for install.
BUILD ?= build
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 300
PREFIX ?= /usr/local

# make's own default of CC is not a choice of the user's.
ifneq ($(origin CC),default)
compiler := -DCMAKE_C_COMPILER=$(CC)
endif

configure = cmake -S . -B $(1) -G Ninja $(compiler) $(2) >/dev/null
build = $(call configure,$(1),$(2)) && cmake --build $(1) -j $(JOBS)
check = ctest --test-dir $(1) --output-on-failure -j $(JOBS)

.PHONY: all demo install test test-asan test-tsan bench bench-quick bench-parts bench-build fuzz format clean help packages

all: ## build into build/
	$(call build,$(BUILD),)

demo: packages ## install missing packages, build, and watch the lock at work
	@$(call build,$(BUILD),) --target demo_program
	@tests/support/with-local-server $(BUILD)/demo/latchkey-demo

install: ## install the library, the command and their pages into PREFIX (/usr/local), below DESTDIR
	$(call build,$(BUILD),)
	DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX)
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || PATH=$$PATH:/sbin:/usr/sbin ldconfig

test: packages ## install missing packages, build, run all tests
	$(call build,$(BUILD),)
	$(call check,$(BUILD))

test-asan: packages ## the same under the address and undefined behaviour sanitizers
	$(call build,$(BUILD)-asan,-DLATCHKEY_SANITIZE=address)
	$(call check,$(BUILD)-asan)

test-tsan: packages ## the same under the thread sanitizer
	$(call build,$(BUILD)-tsan,-DLATCHKEY_SANITIZE=thread)
	$(call check,$(BUILD)-tsan)

bench: bench-build ## latchkey beside its peers, on one server (half an hour); see bench/README.md
	LATCHKEY_BENCH_BUILD=$(abspath $(BUILD)-bench) python3 bench/compare

bench-quick: bench-build ## the same in less than three minutes, into build-bench/results
	LATCHKEY_BENCH_BUILD=$(abspath $(BUILD)-bench) python3 bench/compare --quick \
	    --results $(BUILD)-bench/results

bench-parts: bench-build ## the library, the scripts, the core and the command against their floors
	cmake --build $(BUILD)-bench --target bench

bench-build: packages
	@scripts/install-packages bench/packages
	$(call build,$(BUILD)-bench,-DCMAKE_BUILD_TYPE=Release)

fuzz: packages ## fuzz for FUZZ_SECONDS (300) each
	cmake -S . -B $(BUILD)-fuzz -G Ninja -DCMAKE_C_COMPILER=clang -DLATCHKEY_SANITIZE=address \
	    -DLATCHKEY_LIBFUZZER=ON -DLATCHKEY_FUZZ_SECONDS=$(FUZZ_SECONDS) >/dev/null
	cmake --build $(BUILD)-fuzz -j $(JOBS) --target fuzz

format: ## lay out the C and C++ sources with clang-format
	git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp' | xargs clang-format -i

clean: ## remove what was built
	rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

packages:
	@scripts/install-packages
