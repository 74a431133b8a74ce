/* The table of code generators, and who asks which. */
#include "compiler/codegen/codegen.h"

#include <string.h>

#define KILN_GENERATOR(name) extern const kiln_generator kiln_generator_##name;
#include "compiler/codegen/generators.def"
#undef KILN_GENERATOR

static const kiln_generator *const table[] = {
#define KILN_GENERATOR(name) &kiln_generator_##name,
#include "compiler/codegen/generators.def"
#undef KILN_GENERATOR
};
enum { N_GENERATORS = sizeof table / sizeof table[0] };

const kiln_generator *kiln_generator_at(int index) {
    return index >= 0 && index < N_GENERATORS ? table[index] : NULL;
}

const kiln_generator *kiln_generator_of(const kiln_profile *profile) {
    const char *name = kiln_arch_of(profile->arch)->generator;
    for (int i = 0; i < N_GENERATORS; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    KILN_ASSERT(false, "architecture '%s' names a code generator '%s' that has no row",
                kiln_arch_of(profile->arch)->name, name);
    return NULL;
}

kiln_natives kiln_codegen_natives(const kiln_profile *profile) {
    return kiln_generator_of(profile)->natives(profile);
}

kiln_status kiln_codegen(kiln_arena *a, const kiln_program *p,
                         const kiln_profile *profile, const kiln_codegen_options *o,
                         kiln_object *out, kiln_codegen_text *text, kiln_err *err) {
    const kiln_generator *g = kiln_generator_of(profile);
    const kiln_launch_limits limits = kiln_launch_limits_of(a, profile);
    kiln_status st = kiln_backend_check(g->backend, p, err);
    if (st == KILN_OK)
        st = kiln_program_check_limits(p, &limits, err);
    if (st == KILN_OK)
        st = g->generate(a, p, profile, o, out, text, err);
    if (st != KILN_OK)
        kiln_note(err, "generating code of '%s' for '%s'", p->name, profile->name);
    return st;
}

kiln_status kiln_codegen_entry(kiln_arena *a, const kiln_entry *e,
                               const kiln_profile *profile, kiln_str *object,
                               kiln_err *err) {
    const kiln_generator *g = kiln_generator_of(profile);
    if (g->entry == NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "code for '%s' is launched by a driver, and is no library: "
                         "build a package",
                         profile->name);
    return g->entry(a, e, profile, object, err);
}

kiln_status kiln_code_listing(kiln_arena *a, kiln_str code, const kiln_profile *p,
                              kiln_str *out, kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_buf_puts(&text, "");
    KILN_TRY(kiln_generator_of(p)->list(a, code, p, &text, err));
    *out = kiln_buf_str(&text);
    return KILN_OK;
}
