# kiln's build. `make help` lists the targets; tests/README.md says how tests are found and run.
#
#   CC=gcc|clang            compiler; fuzz targets always use clang
#   V=debug|release|asan|tsan|cov
#   WERROR=1                warnings are errors (make check sets it)
#   JOBS=N                  parallel jobs; all cores unless said otherwise
#   TEST=PART               make quick, e2e: only test programs whose path contains PART
#   SKIP="PART ..."         and none whose path contains one of these
#
# Sources are discovered: a new .c file in a folder below needs no line here.

.DEFAULT_GOAL := all
MAKEFLAGS += -rR --no-print-directory
.SUFFIXES:
.DELETE_ON_ERROR:
SHELL := /bin/bash
export LC_ALL := C

JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(JOBS)
endif

include mk/build.mk
include mk/runtime.mk
include mk/test.mk
include mk/kit.mk
include mk/lint.mk

.PHONY: all lib deps install uninstall install-runtime demo format man docs clean help FORCE

all: $(LIB) $(KILN) $(RUNTIME) $(PROGRAMS) $(DATA) ## build/<compiler>-<V>/kiln, the runtime library and its runners (the default target)

lib: $(LIB) ## the static archive of everything but cli/

deps: ## install what is missing, by Debian package name
	@mk/deps.sh mk/packages.txt
	@mk/boards.sh mk/boards.txt $(BOARD_LIBS)

# Vendor libraries are part of the comparison where they can be had; without them it goes on, and says how
# to get them. A mirror that is not there is given up soon.
demo: KILN_RELEASE = build/$(notdir $(CC))-release/kiln
demo: ## set-up and the main job: tune, build, verify and measure three networks beside vendor libraries, with a report
	@$(MAKE) deps
	@$(MAKE) V=release all
	@PIP_RETRIES=$${PIP_RETRIES:-1} PIP_DEFAULT_TIMEOUT=$${PIP_DEFAULT_TIMEOUT:-15} \
		$(KILN_RELEASE) baselines install --only onnxruntime,openvino,onednn || \
		echo "make demo goes on without them; '$(KILN_RELEASE) baselines install' brings them later"
	$(KILN_RELEASE) nightly pipeline/demo.json

format: ## rewrite every C file in the house format
	@$(call find_c,$(FORMAT_DIRS)) | xargs -r clang-format -i

man: $(KILN) ## manual pages, kiln.1 and one for each verb, in build/<compiler>-<V>/man
	$(KILN) help --man $(B)/man

docs: ## check the Markdown: links resolve, each folder has its README
	@tools/docs.sh

clean: ## remove build/
	rm -rf build

help: ## this list
	@echo "usage: make [target] [CC=gcc|clang] [V=debug|release|asan|tsan|cov] [WERROR=1]"
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20
