# Programs for the folder that tools/gpu-kit.sh makes: stripped, and linked so that they find their
# libraries in a folder beside their own. By DT_RPATH, which holds for libraries of libraries too and
# is not inherited by what they start, as LD_LIBRARY_PATH would be: a Python on the far side keeps its
# own libraries.
KIT_LINK := -s -Wl,--disable-new-dtags -Wl,-rpath,'$$ORIGIN/../lib'
# Vendor libraries of GPUs; those of this processor stay here.
KIT_VENDORS := $(filter cudnn,$(filter-out $(VENDOR_MISSING),$(VENDORS)))
KIT_PROGRAMS := $(addprefix $(B)/kit/,kiln kiln-builder kiln-runner $(KIT_VENDORS:%=kiln-%))
KIT_TESTS := pipeline/test_gpu_graphs compiler/codegen/test_gpu_schedules

.PHONY: kit-programs
kit-programs: $(KIT_PROGRAMS) $(addprefix $(B)/kit/,$(notdir $(KIT_TESTS))) $(B)/kiln-bridge $(B)/kiln-run $(DATA)

$(B)/kit/kiln: $(CLI_OBJ) $(LIB) $(B)/kiln.txt $(B)/link.txt
	@mkdir -p $(@D)
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) $(KIT_LINK) $(CLI_OBJ) $(LIB) $(LDLIBS) -o $@

$(B)/kit/kiln-%: $(B)/programs/kiln-%.o $(LIB) $(B)/link.txt
	@mkdir -p $(@D)
	@echo "  LINK $@"
	@$(CC) $(LDFLAGS) $(KIT_LINK) $< $(LIB) $(if $(filter %-runner,$@),-lm -lpthread,$(LDLIBS)) -o $@

define kit_vendor_rules
$(B)/kit/kiln-$(1): $(B)/programs/kiln-$(1).o $(SRC_$(1):%.c=$(B)/%.o) $(LIB) $(B)/link.txt
	@mkdir -p $$(@D)
	@echo "  LINK $$@"
	@$$(CC) $$(LDFLAGS) $$(KIT_LINK) $$(filter %.o %.a,$$^) $$(LIBS_$(1)) -Wl,--as-needed $$(LDLIBS) -o $$@
endef
$(foreach v,$(KIT_VENDORS),$(eval $(call kit_vendor_rules,$(v))))

define kit_test_rules
$(B)/kit/$(notdir $(1)): $(B)/tests/$(1).o $(SUPPORT) $(LIB) $(B)/link.txt
	@mkdir -p $$(@D)
	@echo "  LINK $$@"
	@$$(CC) $$(LDFLAGS) $$(KIT_LINK) $$(filter %.o,$$^) $(SUPPORT) $(LIB) $(TEST_LIBS) $$(LDLIBS) -o $$@
endef
$(foreach t,$(KIT_TESTS),$(eval $(call kit_test_rules,$(t))))
