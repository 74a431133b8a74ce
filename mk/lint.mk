# Checks of the text itself. Each prints file:line and what to do instead.

FORMAT_DIRS := $(LIB_DIRS) cli programs tests tools
C_FILES := $(call find_src,$(FORMAT_DIRS),*.[ch])
TIDY_STAMPS := $(patsubst %.c,build/lint/%.tidy,$(filter %.c,$(C_FILES)))
# What is read beside the text: archives for their names, and objects, of which stamps know the headers.
# `make check` names variants that it has built.
LINT_ARCHIVES ?= CC=clang V=debug
LINT_OBJECTS ?= CC=clang V=debug
LINT_CHECKS := layers check-format check-words check-lengths check-unused check-names check-files check-headers check-cppcheck check-tidy

.PHONY: layers lint check-format check-words check-lengths check-unused check-names check-files check-headers check-cppcheck check-tidy

# Every check runs whatever the others say; the results add up like tests.
lint: ## clang-tidy, cppcheck, format, banned words, lengths, headers
	@mkdir -p $(RESULTS); : > $(RESULTS)/lint.txt; \
	for c in $(LINT_CHECKS); do \
		echo "== $$c"; \
		verdict="1 0 0"; \
		build='CC=clang V=debug'; \
		[ $$c = check-names ] && build='$(LINT_ARCHIVES)'; \
		[ $$c = check-tidy ] && build='$(LINT_OBJECTS)'; \
		$(MAKE) -k $$build $$c || verdict="0 1 0 see '== $$c' above"; \
		echo "$$c $$verdict" >> $(RESULTS)/lint.txt; \
	done; \
	tests/run.sh -s $(RESULTS)/lint.txt

layers: ## every #include against layers.txt
	@tools/layers.sh

check-format: ## is everything as make format would write it?
	@echo '$(C_FILES)' | xargs -r -n 100 -P $(JOBS) clang-format --dry-run --Werror --ferror-limit=1 || \
		{ echo "check-format: run 'make format'"; exit 1; }

check-words:
	@awk -f tools/code_of.awk -f tools/words.awk tools/words.txt $(C_FILES)

check-lengths:
	@awk -f tools/lengths.awk $(C_FILES)

# Rows of tables are mentions too.
check-unused:
	@find $(wildcard $(LIB_DIRS) cli programs tests) -type f \( -name '*.c' -o -name '*.h' -o -name '*.def' \) | \
		sort | xargs awk -f tools/code_of.awk -f tools/unused.awk tools/unused.txt

# A library that others link owns one prefix.
check-names: $(B)/libkiln.a $(B)/libkiln-runtime.a
	@! nm -A -g --defined-only $^ 2>/dev/null | awk '$$NF !~ /^kiln_/ && NF > 2 { \
		print $$1 " defines " $$NF ": give it the prefix kiln_, or make it static" }' | grep . && \
		echo "names: what the libraries define begins with kiln_"

# A file is named by what it does, once in the tree; a folder's own header has the folder's name.
check-files:
	@printf '%s\n' $(C_FILES) | awk -f tools/files.awk

check-headers:
	@CC='$(CC)' FLAGS='$(CPPFLAGS) $(CFLAGS)' JOBS=$(JOBS) tools/headers.sh $(filter %.h,$(C_FILES))

# __GNUC__ makes the house's attribute macros real: cppcheck then knows what never returns. Tests are a
# third of what it reads; they are run under sanitizers in every check, and read with KILN_SOAK=1.
check-cppcheck:
	@mkdir -p build/cppcheck
	@cppcheck -q -j $(JOBS) --cppcheck-build-dir=build/cppcheck --std=c11 --library=posix \
		--enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
		--suppressions-list=tools/cppcheck-suppressions.txt \
		--template='{file}:{line}: {severity}: {message} [{id}]' \
		-D__GNUC__=12 -D_POSIX_C_SOURCE=200809L -I. $(wildcard $(LIB_DIRS) cli programs $(if $(KILN_SOAK),tests)) 2>&1 && \
		echo "cppcheck: clean"

# One stamp a file, hung on the object of the same variant, which knows the headers: only what
# changed is read again. Make lists it, and tools/tidy.sh reads it, as many files at a time.
TIDY_LIST := build/lint/list.txt
check-tidy: $(TIDY_STAMPS)
	@FLAGS='-std=c17 $(CPPFLAGS) $(TIDY_NODES)' JOBS=$(JOBS) tools/tidy.sh $(TIDY_LIST)
	@echo "clang-tidy: $(words $(TIDY_STAMPS)) files are clean"
build/lint/%.tidy: $(B)/%.o .clang-tidy tests/.clang-tidy | build/lint
	$(if $(findstring n,$(firstword -$(MAKEFLAGS))),,$(file >>$(TIDY_LIST),$*.c $(strip $(call flags_for,$*.c))))
build/lint:
	@mkdir -p $@

# The analyzer walks so many nodes of a function's graph of paths instead of 225000: what it has
# found here lay in the first thousands, and most of the time went into the rest (of 39 files, 11.9 s of
# processor time with 40000 nodes, 6.9 with 16000, 4.6 with 8000; of 29 others 3.5 with those, 3.0 with 4000).
# In a fresh clone, `make lint TIDY_NODES=` walks them all.
TIDY_NODES := -Xclang -analyzer-config -Xclang max-nodes=4000
