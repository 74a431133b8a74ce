# Placeholder until lint lands.
FORMAT_DIRS := $(LIB_DIRS) cli tests tools
.PHONY: layers lint check-format
layers:
	@true
