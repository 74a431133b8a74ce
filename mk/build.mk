# How objects, the archive and the kiln program are made.
# Everything of one variant lives in build/<compiler>-<V>/, mirrored, so variants never mix.

# "undefined" in a make below this one, which inherits -R.
ifneq ($(filter default undefined,$(origin CC)),)
CC := gcc
endif
AR := ar
V ?= debug
WERROR ?= 0
B := build/$(notdir $(CC))-$(V)

LIB_DIRS := base compiler runtime zoo packager sql reports history tuning_db pipeline
find_c = find $(wildcard $(1)) -type f \( -name '*.c' -o -name '*.h' \) | sort
find_src = $(if $(wildcard $(1)),$(shell find $(wildcard $(1)) -type f -name '$(2)' | sort))

# A program of its own, for boards (mk/runtime.mk).
RUNNER_DIR := pipeline/devices/runner
# Files of vendor libraries are in the programs of these alone (below).
VENDOR_DIR := pipeline/baselines/library
VENDOR_SRC := $(wildcard $(VENDOR_DIR)/*onednn*.c $(VENDOR_DIR)/library_xnnpack.c $(VENDOR_DIR)/*cu*.c $(VENDOR_DIR)/clblast_linux.c \
	$(VENDOR_DIR)/library_armcl.c)
LIB_SRC := $(filter-out $(RUNNER_DIR)/% $(VENDOR_SRC),$(call find_src,$(LIB_DIRS),*.c))
CLI_SRC := $(call find_src,cli,*.c)
# Texts that are compiled in: reports/page/page.css is kiln_reports_page_page_css (tools/embed.awk).
EMBEDDED := $(call find_src,$(LIB_DIRS),*.css) $(call find_src,$(LIB_DIRS),*.js)
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o) $(EMBEDDED:%=$(B)/%.embed.o)
CLI_OBJ := $(CLI_SRC:%.c=$(B)/%.o)
LIB := $(B)/libkiln.a
KILN := $(if $(CLI_SRC),$(B)/kiln)
# Vendor libraries to compare with, each in a program of its own where its development package is
# here, in a version with the interface that kiln knows. Version 3 of oneDNN, NVIDIA's libraries and
# CLBlast are opened when their programs start, and need no package; oneDNN's wheel is for x86-64 alone.
comma := ,
hash := \#
have = $(shell printf '%s\n' '$(1)' 'int main(void) { $(2); return 0; }' | \
	$(CC) -x c -std=c17 -fsyntax-only - >/dev/null 2>&1 && echo yes)
VENDORS := onednn onednn3 xnnpack cudnn clblast armcl
HAVE_onednn := $(call have,$(hash)include <oneapi/dnnl/dnnl.h>,dnnl_pooling_v2_desc_t d; (void)d)
HAVE_onednn3 := $(call have,,int x86_64[sizeof(__x86_64__)]; (void)x86_64)
HAVE_xnnpack := $(call have,$(hash)include <xnnpack.h>,xnn_setup_softmax_nc_f32(0$(comma) 0$(comma) 0$(comma) 0$(comma) 0))
HAVE_cudnn := yes
HAVE_clblast := yes
HAVE_armcl := yes
VENDOR_MISSING := $(foreach v,$(VENDORS),$(if $(HAVE_$(v)),,$(v)))
VENDOR_PROGRAMS := $(patsubst %,$(B)/kiln-%,$(filter-out $(VENDOR_MISSING),$(VENDORS)))
ONEDNN_SRC := $(addprefix $(VENDOR_DIR)/,library_onednn.c onednn_plan.c)
SRC_onednn := $(ONEDNN_SRC) $(VENDOR_DIR)/library_onednn2.c
SRC_onednn3 := $(ONEDNN_SRC) $(VENDOR_DIR)/onednn3.c
SRC_cudnn := $(addprefix $(VENDOR_DIR)/,library_cudnn.c cudnn_open.c cudnn_conv.c cublas.c)
SRC_clblast := $(VENDOR_DIR)/clblast_linux.c
SRC_armcl := $(VENDOR_DIR)/library_armcl.c
SRC_xnnpack := $(VENDOR_DIR)/library_xnnpack.c
LIBS_onednn := -ldnnl
LIBS_xnnpack := -lXNNPACK -lpthreadpool
# XNNPACK does not say which version it is; its package does.
XNNPACK_VERSION = $(or $(shell dpkg-query -W -f='$${Version}' libxnnpack-dev 2>/dev/null),unknown)

# Programs that kiln starts, installed beside it: programs/kiln-x.c is $(B)/kiln-x.
PROGRAM_SRC := $(filter-out $(VENDOR_MISSING:%=programs/kiln-%.c),$(call find_src,programs,*.c))
PROGRAM_OBJ := $(PROGRAM_SRC:%.c=$(B)/%.o)
C_PROGRAMS := $(PROGRAM_SRC:programs/%.c=$(B)/%)
# One is a script, run by another Python than the one it was written with.
BRIDGE := $(if $(wildcard pipeline/baselines/bridge.py),$(B)/kiln-bridge)
PROGRAMS := $(C_PROGRAMS) $(BRIDGE)
# Those that link nothing but libc: what they take from the archive must be free of libraries too.
PLAIN_PROGRAMS := $(B)/kiln-runner
# For boards: one file that needs none of theirs, but for what a sanitizer brings. Of libraries it has
# libsodium alone (pipeline/curve). What helps to debug it is not carried there.
BOARD_PROGRAMS := $(B)/kiln-device
BOARD_LINK = $(if $(findstring -fsanitize,$(VARIANT)),-lsodium,-static -s -Wl,--gc-sections -lsodium)

# --- flags: the house style, section 1 ---------------------------------------------------
WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wdouble-promotion -Wundef \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wvla -Wwrite-strings \
	-Wcast-qual -Wpointer-arith -Wformat=2 -Wimplicit-fallthrough
ifeq ($(findstring clang,$(CC)),)
WARN += -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wnull-dereference
endif
ifeq ($(WERROR),1)
WARN += -Werror
endif

# float-cast-overflow is not in GCC's "undefined", and a cast of NaN to an integer is exactly
# the mistake that an operator table for neural networks can make.
SANITIZE := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
# With names of variables, for a debugger (`make check` has lines alone).
DEBUG_INFO ?= -g
FLAGS_debug := -O1 $(DEBUG_INFO)
FLAGS_release := -O2 -DNDEBUG
# Lines are enough for a sanitizer's stack trace; names of variables would double what is linked.
FLAGS_asan := -O1 -g1 $(SANITIZE)
FLAGS_tsan := -O1 -g1 -fsanitize=thread
FLAGS_cov := -O0 -g --coverage
# Where hundreds of programs are linked, they share the archive's members (mk/test.mk).
SHARED := $(filter debug asan,$(V))
VARIANT := $(FLAGS_$(V))$(if $(SHARED), -fPIC -fno-semantic-interposition)
ifeq ($(FLAGS_$(V)),)
$(error V=$(V) is not a variant; use debug, release, asan, tsan or cov)
endif
# Sanitizers make GCC report uninitialised and null paths that only its own checks introduce
# (GCC manual, -fsanitize); the same code is held to these warnings in the plain variants.
ifeq ($(findstring clang,$(CC)),)
ifneq ($(findstring -fsanitize,$(VARIANT)),)
WARN += -Wno-maybe-uninitialized -Wno-null-dereference
endif
endif

# Library headers come in as system headers: their warnings are not ours.
PKGS := nettle libcjson libarchive libsodium sqlite3 libpq libcurl
HDF5 := hdf5-serial
pkg = $(shell pkg-config $(1) $(2) 2>/dev/null || echo $(3))
PKG_CPPFLAGS := $(patsubst -I%,-isystem %,$(call pkg,--cflags,$(PKGS),-I/usr/include/postgresql) $(call pkg,--cflags,$(HDF5),-I/usr/include/hdf5/serial))
# LLVM has its own program for the same; its headers are compiler/codegen's only.
llvm = $(shell llvm-config-19 $(1) 2>/dev/null || echo $(2))
PKG_CPPFLAGS += -isystem $(call llvm,--includedir,/usr/lib/llvm-19/include)
# Only programs that use a cost model start with its library (and OpenMP behind it), only those that
# import Keras models with libhdf5.
LDLIBS := $(call pkg,--libs,$(PKGS),-lnettle -lcjson -larchive -lsodium -lsqlite3 -lpq -lcurl) \
	-Wl,--push-state,--as-needed -lxgboost $(call pkg,--libs,$(HDF5),-lhdf5_serial) -Wl,--pop-state \
	-L$(call llvm,--libdir,/usr/lib/llvm-19/lib) $(call llvm,--libs,-lLLVM-19) -lm -lpthread

CPPFLAGS := -D_POSIX_C_SOURCE=200809L -I. $(PKG_CPPFLAGS)
CFLAGS := -std=c17 $(VARIANT) $(WARN) $(EXTRA_CFLAGS)
LDFLAGS := $(VARIANT) $(EXTRA_LDFLAGS)

# Which code this is, for base/version.c.
COMMIT = $(shell mk/commit.sh)

# Fuzz targets are Clang's ASan variant, and are told what an input reaches in what reads bytes that
# others wrote: with comparisons in its readers, without in what they call, where loops are hot.
FUZZED := $(if $(findstring clang,$(CC)),$(filter asan,$(V)))
FUZZED_READERS := $(if $(FUZZED),compiler/frontend/% compiler/tensor/% packager/% tuning_db/% pipeline/curve/% \
	pipeline/talk/% pipeline/measure/wire/% pipeline/tune/hint% pipeline/devices/runner/% reports/results/% tests/fuzz/% \
	base/text/% base/core/str% $(addprefix runtime/,elf% gpu_module% model% plan% variants%) \
	$(addprefix compiler/,graph/graph_parse% graph/type_text% loop/loop_parse% loop/loop_words% schedule/notation% schedule/config_json% \
	schedule/workload_read%))
FUZZED_REST := $(if $(FUZZED),compiler/export/% compiler/graph/% compiler/op/% compiler/loop/loop_verify.c)

# What depends on the path of the source file.
# In C, both compilers' -Wconversion implies -Wsign-conversion; the house wants that in two folders.
# Files named *_f64.c hold the reference's loops that whole networks run through, *_f32.c those of a
# cost model: fast in every variant. Without an optimizer AddressSanitizer's code is compiled in a third of
# the time. Test programs do without, for what they test is in the library; so does what UNOPTIMIZED names.
flags_for = $(if $(filter $(VENDOR_DIR)/library_xnnpack.c,$(1)),-DKILN_XNNPACK_VERSION='"$(XNNPACK_VERSION)"') \
	$(if $(filter base/version.c,$(1)),-DKILN_COMMIT='"$(COMMIT)"' -DKILN_VARIANT='"$(V) $(VARIANT)"') \
	$(if $(filter %_f64.c %_f32.c,$(1)),-O3) $(if $(filter asan,$(V)),$(if $(filter test_%,$(notdir $(1)))$(filter $(UNOPTIMIZED),$(1)),-O0)) \
	$(if $(filter %_linux.c,$(1)),-D_GNU_SOURCE) \
	$(if $(filter base/% runtime/%,$(1)),-Wsign-conversion,-Wno-sign-conversion) \
	$(if $(filter %_f64.c,$(1)),,$(if $(filter $(FUZZED_READERS),$(1)),-fsanitize=fuzzer-no-link,$(if \
		$(filter $(FUZZED_REST),$(1)),-fsanitize-coverage=inline-8bit-counters$(comma)pc-table)))

# --- rules ---------------------------------------------------------------------------------
# A changed flag must rebuild and a deleted source must leave the archive. So the flags and the
# list of members are files, rewritten only when their text changes, and things depend on them.
define keep_text
@mkdir -p $(@D)
@printf '%s\n' '$(1)' | cmp -s - $@ || printf '%s\n' '$(1)' > $@
endef

$(B)/flags.txt: FORCE
	$(call keep_text,$(CC) $(CPPFLAGS) $(CFLAGS) $(FUZZED_READERS) $(FUZZED_REST) $(UNOPTIMIZED))
$(B)/link.txt: FORCE
	$(call keep_text,$(CC) $(LDFLAGS) $(LDLIBS))
$(B)/libkiln.txt: FORCE
	$(call keep_text,$(LIB_OBJ))
$(B)/kiln.txt: FORCE
	$(call keep_text,$(CLI_OBJ))
$(B)/commit.txt: FORCE
	$(call keep_text,$(COMMIT))
FORCE:

$(B)/base/version.o: $(B)/commit.txt
$(B)/%.embed.c: % tools/embed.awk
	@mkdir -p $(@D)
	@awk -v path=$< -f tools/embed.awk $< > $@.new && mv $@.new $@
$(B)/%.embed.o: $(B)/%.embed.c $(B)/flags.txt
	@echo "  CC   $@"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -c $< -o $@
.SECONDARY: $(EMBEDDED:%=$(B)/%.embed.c)
$(B)/%.o: %.c $(B)/flags.txt
	@mkdir -p $(@D)
	@echo "  CC   $@"
	@$(CC) $(CPPFLAGS) $(CFLAGS) $(call flags_for,$<) -MMD -MP -c $< -o $@

$(LIB): $(LIB_OBJ) $(B)/libkiln.txt
	@echo "  AR   $@"
	@rm -f $@
	@$(AR) rcs $@ $(LIB_OBJ)

$(B)/kiln: $(CLI_OBJ) $(LIB) $(B)/kiln.txt $(B)/link.txt
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) $(CLI_OBJ) $(LIB) $(LDLIBS) -o $@

# They need a little of the archive, and start faster without what the rest of it stands on.
define vendor_rules
$(B)/kiln-$(1): $(B)/programs/kiln-$(1).o $(SRC_$(1):%.c=$(B)/%.o) $(LIB) $(B)/link.txt
	@echo "  LINK $$@"
	@$$(CC) $$(LDFLAGS) $$(filter %.o %.a,$$^) $(LIBS_$(1)) -Wl,--as-needed $$(LDLIBS) -o $$@
endef
$(foreach v,$(filter-out $(VENDOR_MISSING),$(VENDORS)),$(eval $(call vendor_rules,$(v))))

$(filter-out $(VENDOR_PROGRAMS),$(C_PROGRAMS)): $(B)/%: $(B)/programs/%.o $(LIB) $(B)/link.txt
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) $< $(LIB) $(if $(filter $@,$(PLAIN_PROGRAMS)),-lm -lpthread,$(if \
		$(filter $@,$(BOARD_PROGRAMS)),$(BOARD_LINK) -lm -lpthread,$(LDLIBS))) -o $@

BRIDGE_PARTS := $(addprefix pipeline/baselines/,bridge_onnx.py bridge_cuda.py)
$(B)/kiln-bridge: pipeline/baselines/bridge.py $(BRIDGE_PARTS)
	@mkdir -p $(@D)
	@{ head -n 1 $<; cat $(BRIDGE_PARTS); tail -n +2 $<; } > $@.new && chmod 755 $@.new && mv $@.new $@

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(PROGRAM_OBJ:.o=.d) $(VENDOR_SRC:%.c=$(B)/%.d)
