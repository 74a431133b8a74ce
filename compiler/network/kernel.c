/* From a choice to code, and what its hot loops hold. */
#include "compiler/network/network_kernel.h"

#include <string.h>

static const char kernel_name[] = "kiln_kernel";

static kiln_status make(kiln_arena *a, const kiln_op_work *w, const kiln_choice *choice,
                        const kiln_profile *p, bool lists, kiln_kernel *k,
                        kiln_err *err) {
    KILN_ASSERT(choice->tmpl != NULL && choice->config.n == choice->space.n,
                "'%s' is made of a configuration of %d knobs of %d", w->name,
                choice->config.n, choice->space.n);
    const kiln_codegen_options options = {.want_assembly = !lists};
    const int64_t begin = kiln_now_ns();
    KILN_TRY(kiln_template_apply(a, choice->tmpl, &w->workload, p, &k->choice.space,
                                 &choice->config, &k->scheduled, err));
    KILN_TRY(kiln_scheduled_program(a, &k->scheduled, kernel_name, &k->program, err));
    const int64_t lowered = kiln_now_ns();
    KILN_TRY(kiln_codegen(a, k->program, p, &options, &k->object, &k->text, err));
    if (lists)
        KILN_TRY(kiln_object_listing(a, k->object.bytes, p, &k->text.assembly, err));
    k->lower_ns = lowered - begin;
    k->codegen_ns = kiln_now_ns() - lowered;
    return KILN_OK;
}

static kiln_status make_noted(kiln_arena *a, const kiln_op_work *w,
                              const kiln_choice *choice, const kiln_profile *p,
                              bool lists, kiln_kernel *out, kiln_err *err) {
    kiln_kernel k = {.work = w, .choice = *choice};
    const kiln_status st = make(a, w, choice, p, lists, &k, err);
    if (st != KILN_OK) {
        kiln_note(err, "making a kernel of '%s' by template '%s'", w->name,
                  choice->tmpl->name);
        return st;
    }
    *out = k;
    return KILN_OK;
}

kiln_status kiln_kernel_make(kiln_arena *a, const kiln_op_work *w,
                             const kiln_choice *choice, const kiln_profile *p,
                             kiln_kernel *out, kiln_err *err) {
    return make_noted(a, w, choice, p, false, out, err);
}

kiln_status kiln_kernel_make_listed(kiln_arena *a, const kiln_op_work *w,
                                    const kiln_choice *choice, const kiln_profile *p,
                                    kiln_kernel *out, kiln_err *err) {
    return make_noted(a, w, choice, p, true, out, err);
}

/* ---- hot loops ------------------------------------------------------------------- */

/* Marks vector registers named in a text. */
static void mark_registers(kiln_str text, kiln_arch arch, bool seen[64]) {
    const kiln_arch_def *def = kiln_arch_of(arch);
    for (size_t i = 0; i < text.n; i++) {
        const int n = def->asm_register(text, i);
        if (n >= 0 && n < 64)
            seen[n] = true;
    }
}

/* Lines [begin, end] of a text, counted from 1. */
kiln_str kiln_text_lines(kiln_str text, int begin, int end) {
    KILN_ASSERT(begin >= 1 && begin <= end, "lines %d to %d of a text", begin, end);
    kiln_str rest = text, line;
    const char *first = NULL, *last = NULL;
    for (int i = 1; i <= end && kiln_str_cut(&rest, '\n', &line); i++) {
        if (i == begin)
            first = line.p;
        last = line.p + line.n;
    }
    return first == NULL ? (kiln_str){NULL, 0}
                         : (kiln_str){first, (size_t)(last - first)};
}

static bool is_hotter(const kiln_asm_loop *x, const kiln_asm_loop *y) {
    if (y == NULL || x->vector_fma != y->vector_fma)
        return y == NULL || x->vector_fma > y->vector_fma;
    const int mx = x->vector_loads + x->vector_stores;
    const int my = y->vector_loads + y->vector_stores;
    return mx != my ? mx > my : x->instructions > y->instructions;
}

kiln_status kiln_kernel_loops(kiln_arena *a, const kiln_kernel *k,
                              const kiln_profile *p, kiln_hot_loops *out,
                              kiln_err *err) {
    kiln_hot_loops h = {.loop = NULL};
    KILN_TRY(
        kiln_asm_innermost_loops(a, k->text.assembly, p->arch, &h.loop, &h.n, err));
    for (size_t i = 0; i < h.n; i++) {
        if (is_hotter(&h.loop[i], h.hot))
            h.hot = &h.loop[i];
        if (h.loop[i].vector_fma > 0)
            h.spills += h.loop[i].spills;
    }
    if (h.hot != NULL) {
        bool seen[64] = {false};
        mark_registers(
            kiln_text_lines(k->text.assembly, h.hot->line_begin, h.hot->line_end),
            p->arch, seen);
        for (int i = 0; i < 64; i++)
            h.vector_registers += seen[i];
        if (h.hot->vector_fma == 0)
            h.spills = h.hot->spills;
    }
    *out = h;
    return KILN_OK;
}
