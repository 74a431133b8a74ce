/* What differs between two packages, free of noise: versions, memory, and step by step
 * the kernel's origin, template, configuration and code. */
#include "pipeline/gate/gate_internal.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_CHANGES = 200, MAX_NAME = 120 };

typedef struct comparison {
    kiln_arena *arena;
    const kiln_package_facts *candidate, *control;
    const kiln_package_reads *reads; /* of the candidate beside the control */
    kiln_gate_structure *out;
    size_t n; /* changes, listed or not */
} comparison;

static void add(comparison *c, const char *text) {
    if (c->n++ < MAX_CHANGES)
        kiln_vec_push(c->arena, &c->out->change, text);
}

static const char *shown(const comparison *c, const char *name) {
    return kiln_str_printable(c->arena, kiln_str_from(name), MAX_NAME);
}

/* NULL: not known. */
static void add_word(comparison *c, const char *what, const char *from,
                     const char *to) {
    from = from != NULL ? from : "unknown";
    to = to != NULL ? to : "unknown";
    if (strcmp(from, to) != 0)
        add(c,
            kiln_format(c->arena, "%s %s -> %s", what, shown(c, from), shown(c, to)));
}

static void add_bytes(comparison *c, const char *what, uint64_t from, uint64_t to) {
    if (from != to)
        add(c, kiln_format(c->arena, "%s %" PRIu64 " -> %" PRIu64 " bytes", what, from,
                           to));
}

/* ---- the whole ------------------------------------------------------------------- */

static const kiln_package_entry *find_entry(const kiln_package_facts *f,
                                            const char *name) {
    for (size_t i = 0; i < f->n_entries; i++)
        if (strcmp(f->entry[i].name, name) == 0)
            return &f->entry[i];
    return NULL;
}

static bool same_entry(const comparison *c, const char *name) {
    const kiln_package_entry *x = find_entry(c->candidate, name);
    const kiln_package_entry *y = find_entry(c->control, name);
    return x != NULL && y != NULL && strcmp(x->sha256, y->sha256) == 0;
}

static void compare_entry(comparison *c, const char *name) {
    const kiln_package_entry *x = find_entry(c->candidate, name);
    const kiln_package_entry *y = find_entry(c->control, name);
    if (x == NULL || y == NULL || same_entry(c, name))
        return;
    if (x->bytes != y->bytes)
        add_bytes(c, name, y->bytes, x->bytes);
    else
        add(c, kiln_format(c->arena, "%s has other contents", name));
}

static void compare_whole(comparison *c) {
    const kiln_package_facts *x = c->candidate, *y = c->control;
    add_word(c, "version of the model", y->version, x->version);
    if (strcmp(x->source_sha256, y->source_sha256) != 0)
        add(c, "the model's file is another one");
    add_word(c, "kiln", y->kiln_version, x->kiln_version);
    add_word(c, "kiln's commit", y->kiln_commit, x->kiln_commit);
    add_word(c, "LLVM", y->llvm_version, x->llvm_version);
    add_word(c, "lld", y->lld_version, x->lld_version);
    add_bytes(c, "activations", y->memory.arena, x->memory.arena);
    add_bytes(c, "parameters", c->reads->other_param_bytes, c->reads->param_bytes);
    add_bytes(c, "workspace", y->memory.workspace, x->memory.workspace);
    add_bytes(c, "scratch of each thread", y->memory.scratch, x->memory.scratch);
    compare_entry(c, "lib.so");
    if (!c->reads->same_plan)
        compare_entry(c, "plan.bin");
    if (!c->reads->same_params && c->reads->param_bytes == c->reads->other_param_bytes)
        add(c, "parameters have other contents");
    for (size_t i = 0; i < x->n_entries; i++)
        if (kiln_package_module_number(x->entry[i].name) > 0)
            compare_entry(c, x->entry[i].name);
}

/* ---- kernels, step by step ------------------------------------------------------- */

/* Index of the kernel + 1, by the name of a step that calls it. */
static void map_steps(kiln_arena *a, const kiln_package_facts *f, kiln_numbers *out) {
    for (size_t k = 0; k < f->n_kernels; k++)
        for (size_t i = 0; i < f->kernel[k].n_steps; i++)
            kiln_numbers_set(a, out, kiln_str_from(f->kernel[k].step[i]), k + 1);
}

static const char *code_change(const comparison *c, const kiln_package_kernel *x,
                               const kiln_package_kernel *y) {
    if (x->code_sha256 == NULL || y->code_sha256 == NULL ||
        strcmp(x->code_sha256, y->code_sha256) == 0)
        return "";
    return x->code_bytes == y->code_bytes
               ? kiln_format(c->arena, "; code of as many bytes (%" PRId64 ") changed",
                             x->code_bytes)
               : kiln_format(c->arena, "; code %" PRId64 " -> %" PRId64 " bytes",
                             y->code_bytes, x->code_bytes);
}

static const char *word_change(const comparison *c, const char *what, const char *from,
                               const char *to) {
    return strcmp(from, to) == 0 ? ""
                                 : kiln_format(c->arena, "; %s %s -> %s", what,
                                               shown(c, from), shown(c, to));
}

static const char *value_text(const comparison *c, const kiln_json *v) {
    enum { MAX_VALUE = 40 };
    kiln_buf out;
    kiln_json_writer w;
    if (v == NULL)
        return "none";
    kiln_buf_init(&out, c->arena);
    kiln_json_writer_init(&w, &out);
    w.compact_from = 0;
    kiln_json_put(&w, v);
    return kiln_str_printable(c->arena, kiln_buf_str(&out), MAX_VALUE);
}

static void put_knob(const comparison *c, kiln_buf *out, const char *key,
                     const kiln_json *from, const kiln_json *to) {
    const char *was = value_text(c, from), *is = value_text(c, to);
    if (strcmp(was, is) != 0)
        kiln_buf_printf(out, "%s%s %s -> %s", out->n > 0 ? ", " : "", shown(c, key),
                        was, is);
}

/* The knobs that differ; a manifest's configurations are JSON. */
static const char *knobs_change(const comparison *c, const char *from, const char *to) {
    const kiln_json *was = NULL, *is = NULL;
    kiln_buf out;
    if (strcmp(from, to) == 0)
        return "";
    if (kiln_json_parse(c->arena, kiln_str_from(from), "", &was, NULL) != KILN_OK ||
        kiln_json_parse(c->arena, kiln_str_from(to), "", &is, NULL) != KILN_OK)
        return word_change(c, "configuration", from, to);
    kiln_buf_init(&out, c->arena);
    for (const kiln_json *m = kiln_json_first(was); m != NULL; m = kiln_json_next(m))
        put_knob(c, &out, kiln_json_key(m), m, kiln_json_get(is, kiln_json_key(m)));
    for (const kiln_json *m = kiln_json_first(is); m != NULL; m = kiln_json_next(m))
        if (kiln_json_get(was, kiln_json_key(m)) == NULL)
            put_knob(c, &out, kiln_json_key(m), NULL, m);
    return out.n > 0 ? kiln_format(c->arena, "; %s", out.p) : "";
}

/* Of `count` steps, `step` the first of them, that went from kernel y to x. */
static void compare_kernels(comparison *c, const kiln_package_kernel *x,
                            const kiln_package_kernel *y, const char *step,
                            size_t count) {
    const char *what = kiln_format(
        c->arena, "%s%s%s%s%s", word_change(c, "work", y->workload, x->workload),
        word_change(c, "origin", y->origin, x->origin),
        word_change(c, "template", y->tmpl, x->tmpl),
        /* Another template has other knobs: all of them would differ. */
        strcmp(x->tmpl, y->tmpl) == 0 ? knobs_change(c, y->config, x->config) : "",
        code_change(c, x, y));
    if (what[0] == '\0')
        return;
    const char *more =
        count > 1 ? kiln_format(c->arena, " and %zu more", count - 1) : "";
    add(c, kiln_format(c->arena, "step '%s'%s: %s", shown(c, step), more, what + 2));
}

/* Where a kernel's steps were computed before: by how many different kernels. */
typedef struct origin {
    size_t stamp, count;
    const char *first;
} origin;

static void compare_steps_of(comparison *c, const kiln_numbers *before, size_t k,
                             origin *from) {
    const kiln_package_kernel *x = &c->candidate->kernel[k];
    for (size_t i = 0; i < x->n_steps; i++) {
        const size_t old = kiln_numbers_get(before, kiln_str_from(x->step[i]));
        if (old == 0) {
            add(c, kiln_format(c->arena, "step '%s' is new: template %s, origin %s",
                               shown(c, x->step[i]), shown(c, x->tmpl),
                               shown(c, x->origin)));
            continue;
        }
        origin *o = &from[old - 1];
        if (o->stamp != k + 1)
            *o = (origin){.stamp = k + 1, .first = x->step[i]};
        o->count++;
    }
    for (size_t i = 0; i < x->n_steps; i++) {
        const size_t old = kiln_numbers_get(before, kiln_str_from(x->step[i]));
        origin *o = old > 0 ? &from[old - 1] : NULL;
        if (o != NULL && o->count > 0)
            compare_kernels(c, x, &c->control->kernel[old - 1], o->first, o->count);
        if (o != NULL)
            o->count = 0; /* said once */
    }
}

static void compare_steps(comparison *c) {
    kiln_numbers before = {.map = {.slot = NULL}}, after = {.map = {.slot = NULL}};
    map_steps(c->arena, c->control, &before);
    map_steps(c->arena, c->candidate, &after);
    origin *from = kiln_array(c->arena, origin, c->control->n_kernels);
    for (size_t k = 0; k < c->candidate->n_kernels; k++)
        compare_steps_of(c, &before, k, from);
    for (size_t i = 0; i < before.map.entries.n; i++)
        if (kiln_numbers_get(&after, before.map.entries.v[i].key) == 0)
            add(c, kiln_format(c->arena, "step '%s' is gone",
                               shown(c, before.map.entries.v[i].key.p)));
}

void kiln_gate_compare(kiln_arena *a, const kiln_package_facts *candidate,
                       const kiln_package_facts *control,
                       const kiln_package_reads *reads, kiln_gate_structure *out) {
    *out = (kiln_gate_structure){.is_equal = false};
    KILN_ASSERT(candidate->n_entries > 0 && control->n_entries > 0,
                "a package without files was taken for a verified one");
    comparison c = {a, candidate, control, reads, out, 0};
    out->is_equal = same_entry(&c, "lib.so") && reads->same_plan && reads->same_params;
    for (size_t i = 0; i < candidate->n_entries; i++) /* the plans name the same ones */
        if (kiln_package_module_number(candidate->entry[i].name) > 0)
            out->is_equal = out->is_equal && same_entry(&c, candidate->entry[i].name);
    compare_whole(&c);
    compare_steps(&c);
    if (c.n > MAX_CHANGES)
        kiln_vec_push(a, &out->change,
                      kiln_format(a, "and %zu more", c.n - MAX_CHANGES));
}
