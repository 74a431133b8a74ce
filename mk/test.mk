# How test programs are found, built and run. tests/README.md explains it for people.

TEST_ALL := $(call find_src,tests,test_*.c)
E2E_SRC := $(filter tests/e2e/%,$(TEST_ALL))
UNIT_SRC := $(filter-out $(E2E_SRC) tests/support/%,$(TEST_ALL))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
BENCH_SRC := $(call find_src,tests,bench_*.c)
SUPPORT_SRC := $(call find_src,tests/support,*.c)

SUPPORT_OBJ := $(SUPPORT_SRC:%.c=$(B)/%.o)
SUPPORT := $(B)/libsupport.a
UNIT := $(UNIT_SRC:%.c=$(B)/%)
E2E := $(E2E_SRC:%.c=$(B)/%)
BENCH := $(BENCH_SRC:%.c=$(B)/%)
REPLAY := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(B)/tests/fuzz/replay_%)
TEST_LIBS = $(call pkg,--libs,cmocka,-lcmocka)

# Of one program; a hang is a failure. Far above what any takes: a machine may be ten times slower.
TEST_SECONDS ?= 1200
E2E_SECONDS ?= 3600
# Two more than there are processors: many tests wait for others much of the time (of three at once on two
# processors, a seventh of these was idle).
TEST_JOBS ?= $(shell expr $(JOBS) + 2)
RUN = tests/run.sh -j $(TEST_JOBS) -l $(B)/logs
RESULTS := build/results
# What tests find outside themselves: the program, the runners that devices start, what comes with kiln.
RUN_ENV = KILN=$(abspath $(KILN)) KILN_LIBEXEC=$(abspath $(B)) KILN_DATA=$(abspath $(B)) KILN_WERROR=$(WERROR)
# A runner reads twice the last cache when it starts, and what it times is not in there: on a server of
# 260 MiB that was a third of what the tests of tuning cost. They are told of an ordinary one.
TEST_SYS := build/sys
TEST_ENV = $(RUN_ENV) KILN_SYSFS=$(abspath $(TEST_SYS))
$(TEST_SYS)/made:
	@for c in $(patsubst /sys/%,%,$(wildcard /sys/devices/system/cpu/cpu[0-9]*)); do \
		mkdir -p $(@D)/$$c/cache/index0 && echo 3 > $(@D)/$$c/cache/index0/level && \
		echo 32M > $(@D)/$$c/cache/index0/size || exit 1; done
	@mkdir -p $(@D) && touch $@
part = $(foreach t,$(1),$(if $(strip $(foreach p,$(2),$(findstring $(p),$(t)))),$(t)))
pick = $(filter-out $(if $(SKIP),$(call part,$(1),$(SKIP))),$(if $(TEST),$(call part,$(1),$(TEST)),$(1)))

# cmocka catches SIGSEGV to go on with the next test; the sanitizer's stack trace is worth more.
export ASAN_OPTIONS ?= handle_segv=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2:detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS ?= print_stacktrace=1

$(B)/libsupport.txt: FORCE
	$(call keep_text,$(SUPPORT_OBJ))
$(SUPPORT): $(SUPPORT_OBJ) $(B)/libsupport.txt
	@rm -f $@
	@$(AR) rcs $@ $(SUPPORT_OBJ)

# lld takes a fifth of the time of the system's linker, by which what is installed is linked.
LLD_DIR := $(patsubst %/ld.lld,%,$(wildcard $(call llvm,--bindir,/usr/lib/llvm-19/bin)/ld.lld))
FAST_LDFLAGS := $(LDFLAGS) $(LLD_DIR:%=-B% -fuse-ld=lld)
# Hundreds of programs are linked: where they share one library that has all of the archive, each takes a
# seventh of the time, and none is linked again when it changes. They find it from where they lie. Its
# members call each other, never what a program might define by the same name.
TEST_LIB := $(if $(SHARED),$(B)/libkiln-tests.so,$(LIB))
$(B)/libkiln-tests.so: $(LIB_OBJ) $(B)/libkiln.txt $(B)/link.txt
	@echo "  LINK $@"
	@$(CC) $(FAST_LDFLAGS) -shared -Wl,-Bsymbolic,-soname,$(@F) $(LIB_OBJ) $(LDLIBS) -o $@
empty :=
up = $(subst $(empty) ,/,$(patsubst %,..,$(subst /, ,$(dir $(@:$(B)/%=%)))))
# Only kiln calls LLVM and XGBoost: to read all their names for each program is half of what it takes to link it.
TEST_LDLIBS := $(if $(SHARED),$(filter-out -lLLVM% -lxgboost,$(LDLIBS)),$(LDLIBS))
LINK_TEST = $(CC) $(FAST_LDFLAGS) $(1) $(filter %.o,$^) $(SUPPORT) $(TEST_LIB) $(TEST_LIBS) \
	$(if $(SHARED),-Wl$(comma)-rpath$(comma)'$$ORIGIN/$(up)' -Wl$(comma)--as-needed) $(TEST_LDLIBS) -o $@
TEST_NEEDS := $(SUPPORT) $(if $(SHARED),,$(LIB)) $(B)/link.txt $(if $(SHARED),| $(TEST_LIB))

$(UNIT) $(E2E) $(BENCH): $(B)/%: $(B)/%.o $(TEST_NEEDS)
	@echo "  LINK $@"
	@$(call LINK_TEST)

# What runs code for other machines under qemu-user, in tests. Without a cross compiler there is
# none, and tests say that they left it out.
KERNEL_RUNNER_SRC := tests/tools/kernel_runner_linux.c tests/support/kernel/kernel_call_linux.c
define kernel_runner_rules
build/$(1)/kernel_runner: $$(KERNEL_RUNNER_SRC:%.c=build/$(1)/%.o) build/$(1)/libkiln-runtime.a
	@echo "  LINK $$@"
	@$$(CROSS_CC_$(1)) -static $$^ -o $$@ -lpthread
-include $$(KERNEL_RUNNER_SRC:%.c=build/$(1)/%.d)
endef
$(foreach a,$(CROSS_ARCHS),$(eval $(call kernel_runner_rules,$(a))))
KERNEL_RUNNERS := $(CROSS:%=build/%/kernel_runner)

# Drivers that tests bring, for devices that a machine does not have.
FAKE_DRIVERS := $(addprefix $(B)/tests/tools/fake_,cuda.so cudnn.so opencl.so)
$(FAKE_DRIVERS): $(B)/%.so: $(B)/pic/%.o $(B)/link.txt
	@mkdir -p $(@D)
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -shared $< -lpthread -lm -o $@
-include $(FAKE_DRIVERS:$(B)/%.so=$(B)/pic/%.d)

# Threads under ThreadSanitizer, with no more than they stand on: the whole archive would take minutes
# to build once more.
TSAN_SRC := $(call find_src,base runtime,*.c) compiler/network/waits.c $(addprefix tests/support/,kiln_test.c kiln_test_files.c package/plan_model.c package/plan_text.c gpu/gpu_checks.c gpu/gpu_module_text.c gpu/gpu_trial.c)
TSAN_TESTS := $(addprefix $(B)/tsan/test_,cuda opencl_driver device made_up_device placed_plans plan runtime_pool_linux sessions)
$(TSAN_TESTS): $(B)/tsan/%: $(B)/tests/runtime/%.o $(TSAN_SRC:%.c=$(B)/%.o) $(B)/link.txt
	@mkdir -p $(@D)
	@echo "  LINK $@"
	@$(CC) $(FAST_LDFLAGS) $(filter %.o,$^) $(TEST_LIBS) $(LDLIBS) -o $@

# The saved corpus of a fuzz target, run without a fuzzer.
$(REPLAY): $(B)/tests/fuzz/replay_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/replay.o \
		$(TEST_NEEDS)
	@echo "  LINK $@"
	@$(call LINK_TEST)

-include $(TEST_ALL:%.c=$(B)/%.d) $(SUPPORT_OBJ:.o=.d) $(BENCH:=.d) \
	$(FUZZ_SRC:%.c=$(B)/%.d) $(B)/tests/fuzz/replay.d

.PHONY: tests quick-programs e2e-programs quick e2e check fuzz fuzz-smoke fuzz-programs fuzz-merge golden-update test-vendor-ops test-export-onnx test-random-models test-exports test-programs test-tensorflow test-export-forms test-torchscript test-python test-page bench bench-litert run-bench run-bench-litert soak \
	soak-tests tsan tsan-tests

e2e-programs: $(KILN) $(RUNTIME) $(PROGRAMS) $(DATA) $(E2E)
tests: quick-programs e2e-programs ## build every test program of the variant
quick-programs: $(LIB) $(KILN) $(RUNTIME) $(PROGRAMS) $(DATA) $(UNIT) $(REPLAY) $(KERNEL_RUNNERS) $(FAKE_DRIVERS)

quick: layers $(if $(TEST),,$(KILN)) $(RUNTIME) $(PROGRAMS) $(DATA) $(call pick,$(UNIT) $(REPLAY)) $(KERNEL_RUNNERS) $(FAKE_DRIVERS) $(TEST_SYS)/made ## unit, golden, property tests, corpus replay, layers: minutes of processor time; TEST=PART runs some, VERBOSE=1 prints all
	@$(TEST_ENV) $(RUN) -t $(TEST_SECONDS) -r $(RESULTS)/quick-$(notdir $(B)).txt \
		$(call pick,$(UNIT) $(REPLAY))
ifeq ($(V),cov)
	@tools/coverage.sh $(B)
endif

e2e: $(KILN) $(RUNTIME) $(PROGRAMS) $(DATA) $(call pick,$(E2E)) $(TEST_SYS)/made ## end-to-end tests of the kiln program
	@$(TEST_ENV) $(RUN) -t $(E2E_SECONDS) -r $(RESULTS)/e2e-$(notdir $(B)).txt $(call pick,$(E2E))

tsan: ## the runtime's threads under ThreadSanitizer
	@$(MAKE) V=tsan tsan-tests
tsan-tests: $(TSAN_TESTS) $(FAKE_DRIVERS) $(TEST_SYS)/made
	@$(TEST_ENV) $(RUN) -t $(TEST_SECONDS) -r $(RESULTS)/tsan-$(notdir $(B)).txt $(TSAN_TESTS)

check: ## set-up and every test, as CI runs it
	+@MAKE='$(MAKE)' tests/check.sh

test-vendor-ops: $(KILN) ## operators and networks of ONNX Runtime's optimiser and quantiser against it; left out where its wheels cannot be had
	@tests/tools/with_wheels.sh onnxruntime vendor_ops/vendor_ops.py $(abspath $(KILN)) $(abspath build/vendor-ops) --flows --profile native \
		$(if $(TEST),--filter $(TEST))

test-export-onnx: $(KILN) $(B)/tests/compiler/export/test_random_export ## what `kiln export` writes against ONNX Runtime: conformance and trained models, random graphs; left out where its wheels cannot be had
	@rm -rf build/export-graphs
	@KILN_EXPORT_DIR=build/export-graphs KILN_GRAPHS=$${KILN_GRAPHS:-1000} $(B)/tests/compiler/export/test_random_export > /dev/null
	@tests/tools/with_wheels.sh onnxruntime export_onnx/export_onnx.py $(abspath $(KILN)) $(abspath build/export-onnx) \
		--random $(abspath build/export-graphs) $(if $(TEST),--filter $(TEST))

test-random-models: $(KILN) ## random ONNX models against ONNX Runtime (KILN_SEED, KILN_MODELS); left out where its wheels cannot be had
	@tests/tools/with_wheels.sh onnxruntime random_models/random_models.py $(abspath $(KILN)) $(abspath build/random-models) \
		$(if $(KILN_SEED),--seed $(KILN_SEED)) $(if $(KILN_MODELS),--models $(KILN_MODELS))

test-exports: $(KILN) $(RUNTIME) $(PROGRAMS) ## networks exported by PyTorch, against it (KILN_SOAK=1: every opset; PART=2/8, here and below: the second of eight parts); left out where its wheels (several GB) cannot be had
	@tests/tools/with_wheels.sh pytorch exports/exports.py $(abspath $(KILN)) $(abspath build/exports) \
		$(if $(TEST),--filter $(TEST)) $(if $(PART),--part $(PART)) $(if $(KILN_SOAK),--every)

test-programs: $(KILN) $(RUNTIME) $(PROGRAMS) ## networks that PyTorch saves by torch.export, against it (KILN_SOAK=1: all decomposed, too); left out where the same wheels cannot be had
	@tests/tools/with_wheels.sh pytorch exports/programs.py $(abspath $(KILN)) $(abspath build/programs) \
		$(if $(TEST),--filter $(TEST)) $(if $(PART),--part $(PART)) $(if $(KILN_SOAK),--every)

test-export-forms: $(KILN) $(RUNTIME) $(PROGRAMS) ## what ONNX Runtime's tools make of five such networks, against it; left out where the same wheels cannot be had
	@tests/tools/with_wheels.sh pytorch exports/forms.py $(abspath $(KILN)) $(abspath build/export-forms) \
		$(if $(TEST),--filter $(TEST))

test-tensorflow: $(KILN) $(RUNTIME) $(PROGRAMS) ## networks that TensorFlow and Keras write as SavedModel, GraphDef, TensorFlow Lite, .keras and .h5, against them; left out where their wheels (0.3 GB) cannot be had
	@tests/tools/with_wheels.sh tensorflow exports/tf_models.py $(abspath $(KILN)) $(abspath build/tensorflow) \
		$(if $(TEST),--filter $(TEST)) $(if $(PART),--part $(PART))

test-torchscript: $(KILN) $(RUNTIME) $(PROGRAMS) ## traced and scripted networks, against PyTorch; left out where the same wheels cannot be had
	@tests/tools/with_wheels.sh pytorch exports/script_models.py $(abspath $(KILN)) $(abspath build/torchscript) \
		$(if $(TEST),--filter $(TEST)) $(if $(PART),--part $(PART))

test-python: ## the Python package and its example in a fresh environment; left out where NumPy's wheel cannot be had
	@tests/tools/with_wheels.sh numpy bindings/numpy_version.py - $(abspath build/python-test)
	@$(MAKE) TEST=tools/test_bindings quick

test-page: ## the report's page of thirty jobs in Chromium, by axe too; axe is left out where its wheel cannot be had
	@tests/tools/with_wheels.sh page page/axe_version.py - $(abspath build/page-test)
	@$(MAKE) TEST=e2e/test_page e2e

golden-update: $(KILN) $(UNIT) ## rewrite golden files; review the diff as code
	@$(RUN_ENV) KILN_GOLDEN_UPDATE=1 $(RUN) -t $(TEST_SECONDS) $(call pick,$(UNIT))
	@git status --short -- '*/golden/*' || true

bench-litert: ## the TensorFlow Lite files beside LiteRT (`kiln baselines install litert`): table and geometric means; LITERT="--tune 60s" tunes each first
	@$(MAKE) V=release run-bench-litert
run-bench-litert: $(KILN) $(RUNTIME) $(PROGRAMS)
	@python3 -B tests/tools/litert/beside_litert.py --kiln $(abspath $(KILN)) --work $(abspath build/litert) \
		$(if $(TEST),--filter $(TEST)) $(LITERT)

bench: ## measure: builds V=release, runs every tests/**/bench_*.c
	@test -n "$(BENCH)" || { echo "bench: no tests/**/bench_*.c found: nothing was measured"; exit 1; }
	@$(MAKE) V=release run-bench
run-bench: $(KILN) $(RUNTIME) $(PROGRAMS) $(DATA) $(BENCH)
	@for b in $(call pick,$(BENCH)); do echo "== $$b"; $(RUN_ENV) $$b || exit 1; done

# --- fuzzing: always clang, ASan + UBSan + coverage feedback ---------------------------------
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 3
FUZZ ?=
FUZZ_NAMES := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=%)
FUZZ_PICK = $(if $(FUZZ),$(FUZZ),$(FUZZ_NAMES))

FUZZ_PROGRAMS := $(FUZZ_SRC:%.c=$(B)/%)
$(FUZZ_PROGRAMS): $(B)/%: $(B)/%.o $(TEST_NEEDS)
	@echo "  LINK $@"
	@$(call LINK_TEST,-fsanitize=fuzzer)
fuzz-programs: $(FUZZ_PROGRAMS)

fuzz-smoke: ## each fuzz target for FUZZ_SECONDS (3), two at a time
	@$(MAKE) CC=$(FUZZ_CC) V=asan fuzz-programs
	@tests/fuzz/run.sh -s $(FUZZ_SECONDS) -b build/$(notdir $(FUZZ_CC))-asan \
		-r $(RESULTS)/fuzz.txt $(FUZZ_PICK)

fuzz: fuzz-smoke ## longer: make fuzz FUZZ=onnx FUZZ_SECONDS=600

fuzz-merge: ## FUZZ=x: add to the saved corpus the new inputs that reach new code
	@test -n "$(FUZZ)" || { echo "fuzz-merge: say which target: FUZZ=<one of: $(FUZZ_NAMES)>"; exit 2; }
	@$(MAKE) CC=$(FUZZ_CC) V=asan fuzz-programs
	@tests/fuzz/run.sh -m -b build/$(notdir $(FUZZ_CC))-asan $(FUZZ)

soak: ## what has no place in check's budget: tests with KILN_SOAK=1 under ASan, cppcheck of tests, threads under TSan, fuzzing for 10 minutes a target
	@KILN_SOAK=1 $(MAKE) CC=clang V=asan TEST_SECONDS=3600 E2E_SECONDS=7200 soak-tests
	@KILN_SOAK=1 $(MAKE) check-cppcheck
	@$(MAKE) V=tsan TEST=runtime quick
	@$(MAKE) fuzz-smoke FUZZ_SECONDS=$(if $(filter-out 3,$(FUZZ_SECONDS)),$(FUZZ_SECONDS),600)
soak-tests: $(KILN) $(RUNTIME) $(PROGRAMS) $(DATA) $(UNIT) $(REPLAY) $(E2E) $(KERNEL_RUNNERS) $(FAKE_DRIVERS)
	@$(RUN_ENV) $(RUN) -t $(E2E_SECONDS) $(UNIT) $(REPLAY) $(E2E)
