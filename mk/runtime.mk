# What ships to a device, of runtime/ alone: the library, static and shared, and the runner
# kiln-run, all of it native and for the machines of CROSS_ARCHS. And make install.

RUNTIME_SRC := $(call find_src,runtime,*.c)
# Of base it has the confinement, which needs nothing else of it.
RUNNER_SRC := $(strip $(call find_src,$(RUNNER_DIR),*.c) $(wildcard base/host/confine_linux.c))
RUNTIME_SO_VERSION := 0
VERSION = $(shell sed -n 's/^\#define KILN_VERSION "\(.*\)"/\1/p' base/version.h)

RUNTIME_OBJ := $(RUNTIME_SRC:%.c=$(B)/%.o)
RUNTIME_PIC := $(RUNTIME_SRC:%.c=$(B)/pic/%.o)
RUNNER_OBJ := $(RUNNER_SRC:%.c=$(B)/%.o)
RUNTIME_A := $(B)/libkiln-runtime.a
RUNTIME_SO := $(B)/libkiln-runtime.so.$(RUNTIME_SO_VERSION)

$(B)/libkiln-runtime.txt: FORCE
	$(call keep_text,$(RUNTIME_OBJ))

$(RUNTIME_A): $(RUNTIME_OBJ) $(B)/libkiln-runtime.txt
	@echo "  AR   $@"
	@rm -f $@
	@$(AR) rcs $@ $(RUNTIME_OBJ)

$(B)/pic/%.o: %.c $(B)/flags.txt
	@mkdir -p $(@D)
	@echo "  CC   $@"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC $(call flags_for,$<) -MMD -MP -c $< -o $@

# -z defs: a library that lacks something fails here, not on a board. Sanitizers define theirs late.
$(RUNTIME_SO): $(RUNTIME_PIC) runtime/kiln-runtime.map $(B)/libkiln-runtime.txt
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=runtime/kiln-runtime.map \
		$(if $(findstring -fsanitize,$(VARIANT)),,-Wl,-z,defs) $(RUNTIME_PIC) -lpthread -o $@

$(B)/kiln-run: $(RUNNER_OBJ) $(RUNTIME_A) $(B)/link.txt
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) $(RUNNER_OBJ) $(RUNTIME_A) -lpthread -o $@

# --- for other machines, static: what an emulator or a board needs is one file -----------------
# The same for every variant. A machine is a word here: Debian's, in the names of its cross compiler, its
# emulator and the folder of its libraries. Without a cross compiler there is none, and who asks for it is told.
CROSS_ARCHS := aarch64 riscv64 arm
CROSS_CC_arm := arm-linux-gnueabihf-gcc
CROSS_CFLAGS := -std=c17 -O2 -DNDEBUG -D_POSIX_C_SOURCE=200809L -I. -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror)

# cross_rules ARCH: build/ARCH/ has the library, the runner and (mk/test.mk) what runs kernels in tests.
define cross_rules
CROSS_CC_$(1) ?= $(1)-linux-gnu-gcc
CROSS_HAS_$(1) := $$(if $$(RUNTIME_SRC),$$(shell command -v $$(CROSS_CC_$(1)) 2>/dev/null))
# The board's name among the folders of libraries, as Debian has it: aarch64-linux-gnu.
CROSS_LIB_$(1) := $$(if $$(CROSS_HAS_$(1)),lib/$$(shell $$(CROSS_CC_$(1)) -dumpmachine))
CROSS_SO_$(1) := build/$(1)/$$(notdir $$(RUNTIME_SO))
CROSS_OBJ_$(1) := $$(RUNTIME_SRC:%.c=build/$(1)/%.o)
CROSS_PIC_$(1) := $$(RUNTIME_SRC:%.c=build/$(1)/pic/%.o)
CROSS_RUNNER_$(1) := $$(RUNNER_SRC:%.c=build/$(1)/%.o)
CROSS_COMPILE_$(1) = $$(CROSS_CC_$(1)) $$(CROSS_CFLAGS) $$(if $$(filter %_linux.c,$$<),-D_GNU_SOURCE) \
	$$(if $$(filter %_sodium.c,$$<),-isystem build/$(1)/include) -MMD -MP -c $$< -o $$@

build/$(1)/flags.txt: FORCE
	$$(call keep_text,$$(CROSS_CC_$(1)) $$(CROSS_CFLAGS))

build/$(1)/%.o: %.c build/$(1)/flags.txt
	@mkdir -p $$(@D)
	@echo "  CC   $$@"
	@$$(CROSS_COMPILE_$(1))

build/$(1)/pic/%.o: %.c build/$(1)/flags.txt
	@mkdir -p $$(@D)
	@echo "  CC   $$@"
	@$$(CROSS_COMPILE_$(1)) -fPIC

build/$(1)/libkiln-runtime.a: $$(CROSS_OBJ_$(1))
	@echo "  AR   $$@"
	@rm -f $$@
	@$$(AR) rcs $$@ $$^

$$(CROSS_SO_$(1)): $$(CROSS_PIC_$(1)) runtime/kiln-runtime.map
	@echo "  LINK $$@"
	@$$(CROSS_CC_$(1)) -shared -Wl,-soname,$$(@F) -Wl,--version-script=runtime/kiln-runtime.map -Wl,-z,defs \
		$$(CROSS_PIC_$(1)) -lpthread -o $$@

build/$(1)/kiln-run: $$(CROSS_RUNNER_$(1)) build/$(1)/libkiln-runtime.a
	@echo "  LINK $$@"
	@$$(CROSS_CC_$(1)) -static $$^ -o $$@ -lpthread

# Beside the program, where it looks.
$(B)/kiln-run-$(1): build/$(1)/kiln-run
	@cp $$< $$@

-include $$(CROSS_OBJ_$(1):.o=.d) $$(CROSS_PIC_$(1):.o=.d) $$(CROSS_RUNNER_$(1):.o=.d)
endef
$(foreach a,$(CROSS_ARCHS),$(eval $(call cross_rules,$(a))))
CROSS := $(foreach a,$(CROSS_ARCHS),$(if $(CROSS_HAS_$(a)),$(a)))
CROSS_LIBS := $(foreach a,$(CROSS),build/$(a)/libkiln-runtime.a $(CROSS_SO_$(a)))

-include $(RUNTIME_PIC:.o=.d) $(RUNNER_OBJ:.o=.d)

# --- with libraries of other machines, where they are here --------------------------------------
# `make deps` puts them there (mk/boards.txt).
BOARD_LIBS ?= /usr/local/lib/kiln-boards

# kiln-device: another libsodium is named by CROSS_SODIUM_riscv64=FILE. Its headers are the same everywhere.
BOARD_SRC := $(filter-out base/text/json.c base/text/json_copy.c base/core/hash.c base/text/record%,$(call find_src,base compiler/target runtime \
	pipeline/curve pipeline/measure/wire pipeline/measure/runner pipeline/measure/board,*.c)) programs/kiln-device.c
define board_rules
CROSS_SODIUM_$(1) ?= $$(firstword $$(wildcard $$(addsuffix /$$(CROSS_LIB_$(1))/libsodium.a,/usr $$(BOARD_LIBS)/usr)))
BOARD_OBJ_$(1) := $$(BOARD_SRC:%.c=build/$(1)/%.o)

build/$(1)/include/sodium.h: $(wildcard /usr/include/sodium.h)
	@mkdir -p $$(@D)
	@ln -sfn /usr/include/sodium $$(@D)/sodium
	@ln -sf $$< $$@

build/$(1)/pipeline/curve/box_sodium.o: build/$(1)/include/sodium.h

build/$(1)/libkiln-board.a: $$(BOARD_OBJ_$(1))
	@echo "  AR   $$@"
	@rm -f $$@
	@$$(AR) rcs $$@ $$^

build/$(1)/kiln-device: build/$(1)/libkiln-board.a $$(CROSS_SODIUM_$(1))
	@echo "  LINK $$@"
	@$$(CROSS_CC_$(1)) -static -s $$(filter %/kiln-device.o,$$(BOARD_OBJ_$(1))) $$^ -lm -lpthread -o $$@

$(B)/kiln-device-$(1): build/$(1)/kiln-device
	@cp $$< $$@

-include $$(BOARD_OBJ_$(1):.o=.d)
endef
$(foreach a,$(CROSS),$(eval $(call board_rules,$(a))))
CROSS_DEVICES := $(foreach a,$(CROSS),$(if $(CROSS_SODIUM_$(a)),$(B)/kiln-device-$(a)))

# The Arm Compute Library's program: C++, as that library has no other interface, and this file alone.
ARMCL_SRC := pipeline/baselines/library/armcl_board.cpp
ARMCL_CXX := aarch64-linux-gnu-g++
ARMCL_LIB := $(wildcard $(BOARD_LIBS)/usr/lib/aarch64-linux-gnu/libarm_compute-static.a)
ARMCL := $(if $(wildcard $(ARMCL_SRC)),$(if $(ARMCL_LIB),$(if $(shell command -v $(ARMCL_CXX) 2>/dev/null),$(B)/kiln-armcl-aarch64)))
build/aarch64/kiln-armcl: $(ARMCL_SRC) pipeline/baselines/library/armcl_call.h $(ARMCL_LIB)
	@mkdir -p $(@D)
	@echo "  C++  $@"
	@$(ARMCL_CXX) -std=c++14 -O2 -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) -I. -static -s -Wl,--gc-sections \
		-isystem $(BOARD_LIBS)/usr/include/aarch64-linux-gnu $(ARMCL_SRC) -L$(dir $(ARMCL_LIB)) \
		-larm_compute-static -larm_compute_core-static -lpthread -o $@
$(B)/kiln-armcl-aarch64: build/aarch64/kiln-armcl
	@cp $< $@

# Arm NN's program, with the shared libraries that are unpacked there, and the cross compiler's C library.
ARMNN_SRC := pipeline/baselines/library/armnn_board.cpp
ARMNN_DIR := $(BOARD_LIBS)/usr/lib/aarch64-linux-gnu
ARMNN_LIB := $(wildcard $(ARMNN_DIR)/libarmnnTfLiteParser.so)
ARMNN_LIBC := $(patsubst %/ld-linux-aarch64.so.1,%,$(wildcard /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1))
ARMNN := $(if $(and $(wildcard $(ARMNN_SRC)),$(ARMNN_LIB),$(ARMCL_LIB),$(ARMNN_LIBC)),$(if $(shell command -v $(ARMCL_CXX) 2>/dev/null),$(B)/kiln-armnn-aarch64))
build/aarch64/kiln-armnn: $(ARMNN_SRC) $(ARMNN_LIB)
	@mkdir -p $(@D)
	@echo "  C++  $@"
	@$(ARMCL_CXX) -std=c++14 -O2 -Wall -Wextra $(if $(filter 1,$(WERROR)),-Werror) -I. -s \
		-isystem $(BOARD_LIBS)/usr/include -isystem $(BOARD_LIBS)/usr/include/aarch64-linux-gnu \
		-DKILN_ARMNN_BACKENDS='"$(ARMNN_DIR)/armnn22"' $(ARMNN_SRC) -L$(ARMNN_DIR) -larmnnTfLiteParser -larmnn \
		-l:libarm_compute.so.20 -l:libarm_compute_core.so.20 -Wl,-rpath-link,$(ARMNN_DIR) \
		-Wl,--disable-new-dtags -Wl,-rpath,$(ARMNN_DIR):$(ARMNN_LIBC) \
		-Wl,--dynamic-linker,$(ARMNN_LIBC)/ld-linux-aarch64.so.1 -o $@
$(B)/kiln-armnn-aarch64: build/aarch64/kiln-armnn
	@cp $< $@

# XNNPACK's program of this machine and what it needs of kiln, for AArch64. That library is a shared one too.
XNN_LIB := $(and $(wildcard $(ARMNN_DIR)/libXNNPACK.so),$(wildcard $(ARMNN_DIR)/libcjson.so))
XNN_SRC := programs/kiln-xnnpack.c $(addprefix $(VENDOR_DIR)/,library_xnnpack.c library_serve.c op_json.c age.c spread_linux.c)
XNN_OWN := $(filter-out base/core/hash.c,$(call find_src,base,*.c)) $(addprefix compiler/,graph/graph_tensor.c graph/type.c graph/type_text.c frontend/npy.c)
XNN_OBJ := $(patsubst %.c,build/aarch64/xnnpack/%.o,$(XNN_SRC))
XNN_OWN_OBJ := $(patsubst %.c,build/aarch64/xnnpack/%.o,$(XNN_OWN))
XNN := $(if $(and $(wildcard programs/kiln-xnnpack.c),$(XNN_LIB),$(ARMNN_LIBC),$(CROSS_HAS_aarch64)),$(B)/kiln-xnnpack-aarch64)
build/aarch64/xnnpack/%.o: %.c build/aarch64/flags.txt
	@mkdir -p $(@D)
	@echo "  CC   $@"
	@$(CROSS_COMPILE_aarch64) -isystem $(BOARD_LIBS)/usr/include $(if $(filter %/library_xnnpack.c,$<),-DKILN_XNNPACK_VERSION='"$(XNNPACK_VERSION)"')
build/aarch64/xnnpack/libkiln.a: $(XNN_OWN_OBJ)
	@echo "  AR   $@"
	@rm -f $@
	@$(AR) rcs $@ $^
build/aarch64/kiln-xnnpack: $(XNN_OBJ) build/aarch64/xnnpack/libkiln.a
	@echo "  LINK $@"
	@$(CROSS_CC_aarch64) -s $^ -L$(ARMNN_DIR) -lXNNPACK -lpthreadpool -lcjson -lm -Wl,-rpath-link,$(ARMNN_DIR) \
		-Wl,--disable-new-dtags -Wl,-rpath,$(ARMNN_DIR):$(ARMNN_LIBC) \
		-Wl,--dynamic-linker,$(ARMNN_LIBC)/ld-linux-aarch64.so.1 -o $@
$(B)/kiln-xnnpack-aarch64: build/aarch64/kiln-xnnpack
	@cp $< $@
-include $(XNN_OBJ:.o=.d) $(XNN_OWN_OBJ:.o=.d)

# What comes with kiln as files: beside the program, where it looks.
DATA := $(B)/ready.jsonl $(B)/autotvm.jsonl
$(B)/ready.jsonl: tuning_db/ready/ready.jsonl
	@mkdir -p $(@D)
	@cp $< $@
$(B)/autotvm.jsonl: tuning_db/corpus/autotvm.jsonl
	@mkdir -p $(@D)
	@cp $< $@

CROSS_RUNNERS := $(CROSS:%=$(B)/kiln-run-%)
RUNNERS := $(if $(RUNNER_SRC),$(B)/kiln-run $(CROSS_RUNNERS)) $(CROSS_DEVICES) $(ARMCL) $(ARMNN) $(XNN)
RUNTIME := $(if $(RUNTIME_SRC),$(RUNTIME_A) $(RUNTIME_SO)) $(RUNNERS) $(CROSS_LIBS)

# --- Python ------------------------------------------------------------------------------------------
# A wheel of the release variant's library, and of the boards' that have 64 bits: bindings/python/README.md.
PYTHON ?= python3
WHEEL_DIR ?= build/wheel
.PHONY: wheel
ifeq ($(V),release)
wheel: $(RUNTIME_SO) $(foreach a,$(filter-out arm,$(CROSS)),$(CROSS_SO_$(a))) ## build/wheel/*.whl: the Python package, with the runtime library inside
	@for so in $^; do $(PYTHON) -B bindings/python/make_wheel.py --library $$so --version $(VERSION) \
		--licence LICENSE --out $(WHEEL_DIR) || exit 1; done
else
wheel:
	@$(MAKE) V=release $@
endif

# --- install ---------------------------------------------------------------------------------------
# What is installed is the release variant, whatever V was.
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL := install
TO = $(DESTDIR)$(PREFIX)
RUNTIME_HEADERS := runtime/kiln.h runtime/kernel.h bindings/cpp/kiln.hpp
EXAMPLES := $(wildcard examples/*)
# Beside the host's, where those machines' pkg-config looks.
CROSS_LIB := $(foreach a,$(CROSS),$(CROSS_LIB_$(a)))
# install_library FOLDER,STATIC,SHARED: with the names that linkers look for, and its pkg-config file.
# The empty line ends the last command: another one may follow.
define install_library
	$(INSTALL) -d $(TO)/$(1)/pkgconfig
	$(INSTALL) -m 644 $(2) $(TO)/$(1)/
	$(INSTALL) -m 755 $(3) $(TO)/$(1)/
	ln -sf $(notdir $(3)) $(TO)/$(1)/libkiln-runtime.so
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIB@|$(1)|; s|@VERSION@|$(VERSION)|' runtime/kiln-runtime.pc.in \
		> $(TO)/$(1)/pkgconfig/kiln-runtime.pc
	chmod 644 $(TO)/$(1)/pkgconfig/kiln-runtime.pc

endef
# Made by the program itself, from the tables of its verbs.
VERBS := $(shell sed -n 's/^KILN_VERB(\(.*\))$$/\1/p' $(wildcard cli/verbs.def) </dev/null)
DEVICE_VERBS := $(shell sed -n 's/^KILN_DEVICE(\(.*\))$$/\1/p' $(wildcard cli/device/device.def) </dev/null)
MAN := $(addprefix share/man/man1/,kiln.1 $(VERBS:%=kiln-%.1) $(DEVICE_VERBS:%=kiln-device-%.1))
COMPLETION_bash := share/bash-completion/completions/kiln
COMPLETION_zsh := share/zsh/site-functions/_kiln
COMPLETION_fish := share/fish/vendor_completions.d/kiln.fish
SHELLS := bash zsh fish
INSTALLED = bin/kiln bin/kiln-run share/doc/kiln $(MAN) $(foreach s,$(SHELLS),$(COMPLETION_$(s))) $(addprefix share/kiln/,$(notdir $(DATA))) \
	$(addprefix libexec/kiln/,$(CROSS_ARCHS:%=kiln-run-%) $(CROSS_ARCHS:%=kiln-device-%) kiln-armcl-aarch64 kiln-armnn-aarch64 kiln-xnnpack-aarch64 $(notdir $(PROGRAMS))) \
	$(foreach l,lib $(CROSS_LIB),$(addprefix $(l)/,libkiln-runtime.a libkiln-runtime.so $(notdir $(RUNTIME_SO)) \
	pkgconfig/kiln-runtime.pc)) $(addprefix include/kiln/,$(notdir $(RUNTIME_HEADERS)))

ifeq ($(V),release)
# An installed header finds its neighbour in kiln/, not in this tree's runtime/.
install-runtime: $(RUNTIME)
	$(INSTALL) -d $(TO)/bin $(TO)/libexec/kiln $(TO)/include/kiln $(TO)/share/doc/kiln
	$(INSTALL) -m 755 $(B)/kiln-run $(TO)/bin/
	$(if $(CROSS),$(INSTALL) -m 755 $(CROSS_RUNNERS) $(CROSS_DEVICES) $(ARMCL) $(ARMNN) $(XNN) $(TO)/libexec/kiln/)
	$(call install_library,lib,$(RUNTIME_A),$(RUNTIME_SO))
	$(foreach a,$(CROSS),$(call install_library,$(CROSS_LIB_$(a)),build/$(a)/libkiln-runtime.a,$(CROSS_SO_$(a))))
	for h in $(RUNTIME_HEADERS); do \
		to=$(TO)/include/kiln/$${h##*/}; \
		sed 's|#include "runtime/|#include "kiln/|' $$h > $$to && chmod 644 $$to || exit 1; done
	$(INSTALL) -m 644 LICENSE README.md docs/*.md docs/*.c $(TO)/share/doc/kiln/
	$(INSTALL) -d $(TO)/share/doc/kiln/examples
	$(INSTALL) -m 644 $(EXAMPLES) $(TO)/share/doc/kiln/examples/

install: $(KILN) $(PROGRAMS) $(DATA) install-runtime ## kiln, kiln-run, the runtime library, headers, docs below DESTDIR PREFIX (/usr/local)
	$(INSTALL) -m 755 $(KILN) $(TO)/bin/
	$(INSTALL) -m 755 $(PROGRAMS) $(TO)/libexec/kiln/
	$(INSTALL) -d $(TO)/share/kiln
	$(INSTALL) -m 644 $(DATA) $(TO)/share/kiln/
	$(INSTALL) -d $(TO)/share/man/man1
	$(KILN) help --man $(B)/man
	$(INSTALL) -m 644 $(addprefix $(B)/man/,$(notdir $(MAN))) $(TO)/share/man/man1/
	$(INSTALL) -d $(foreach s,$(SHELLS),$(dir $(TO)/$(COMPLETION_$(s))))
	for s in $(SHELLS); do $(KILN) completion $$s > $(B)/completion.$$s || exit 1; done
	$(foreach s,$(SHELLS),$(INSTALL) -m 644 $(B)/completion.$(s) $(TO)/$(COMPLETION_$(s)) &&) true
else
install install-runtime:
	@$(MAKE) V=release $@
endif

uninstall: ## what install put there, and no more
	rm -rf $(addprefix $(TO)/,$(INSTALLED))
	for d in $(addprefix $(TO)/,include/kiln libexec/kiln share/kiln $(foreach l,$(CROSS_LIB),$(l)/pkgconfig $(l))); do \
		[ ! -d $$d ] || rmdir --ignore-fail-on-non-empty $$d || exit 1; done
