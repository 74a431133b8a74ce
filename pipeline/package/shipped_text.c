/* What ships, for people and as JSON (docs/explain-json.md). */
#include "pipeline/package/package_shipped.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { NAME_SHOWN = 200, NAME_COLUMN = 44 };

static const char *shown(kiln_arena *a, const char *name) {
    return kiln_str_printable(a, kiln_str_from(name), NAME_SHOWN);
}

static const kiln_shipped_kernel *kernel_of(const kiln_shipped *s, size_t step) {
    const int k = s->step.v[step].kernel;
    return k < 0 ? NULL : &s->kernel.v[k];
}

/* ---- text ------------------------------------------------------------------------ */

static void put_ms(kiln_buf *out, double ms) {
    if (ms > 0)
        kiln_buf_printf(out, " %10.4f", ms);
    else
        kiln_buf_printf(out, " %10s", "-");
}

static void put_rivals(kiln_buf *out, const kiln_shipped_rivals *r) {
    for (size_t i = 0; i < r->n; i++)
        kiln_buf_printf(out, "%s%s%s%s %.4f ms", i > 0 ? ", " : "", r->v[i].name,
                        r->v[i].version != NULL ? " " : "",
                        r->v[i].version != NULL ? r->v[i].version : "", r->v[i].ms);
}

static void put_value(kiln_buf *out, const kiln_json *v) {
    if (kiln_json_is_array(v)) {
        for (const kiln_json *e = kiln_json_first(v); e != NULL;
             e = kiln_json_next(e)) {
            kiln_buf_puts(out, e == kiln_json_first(v) ? "" : "x");
            put_value(out, e);
        }
        return;
    }
    if (kiln_json_is_number(v))
        kiln_buf_printf(out, "%g", kiln_json_number(v, 0));
    else if (kiln_json_is_bool(v))
        kiln_buf_puts(out, kiln_json_bool(v, false) ? "true" : "false");
    else
        kiln_buf_puts(out, shown(out->arena, kiln_json_string(v, "?")));
}

/* In one line: "oc_block 16, tile 2x7x2"; the template has a column of its own. */
static void put_config(kiln_buf *out, const char *config) {
    const kiln_json *v = NULL;
    const char *comma = "";
    if (kiln_json_parse(out->arena, kiln_str_from(config), "configuration", &v, NULL) !=
        KILN_OK)
        return;
    for (const kiln_json *m = kiln_json_first(v); m != NULL; m = kiln_json_next(m)) {
        if (strcmp(kiln_json_key(m), "template") == 0)
            continue;
        kiln_buf_printf(out, "%s%s ", comma, shown(out->arena, kiln_json_key(m)));
        put_value(out, m);
        comma = ", ";
    }
}

static void put_row(kiln_buf *out, const kiln_shipped *s, size_t i) {
    const kiln_shipped_step *t = &s->step.v[i];
    const kiln_shipped_kernel *k = kernel_of(s, i);
    kiln_buf_printf(out, "%4zu  %-*s %-12s %-11s %-10s", i + 1, NAME_COLUMN,
                    shown(out->arena, t->name), shown(out->arena, t->op),
                    k != NULL ? k->is.origin : "-", k != NULL ? k->is.tmpl : "-");
    if (k != NULL && k->n_tried > 0)
        kiln_buf_printf(out, " %7d", k->n_tried);
    else
        kiln_buf_printf(out, " %7s", "-");
    put_ms(out, k != NULL ? k->best_ms : 0);
    put_ms(out, t->result_ms);
    kiln_buf_puts(out, "  ");
    if (k != NULL)
        put_config(out, k->is.config);
    kiln_buf_puts(out, "\n");
}

/* What a search over layouts chose, and what it expects where it was made here. */
static void put_search(kiln_buf *out, const kiln_shipped *s) {
    int n_conversions = 0;
    for (size_t i = 0; i + s->n_open < s->step.n; i++)
        n_conversions += strcmp(s->step.v[i].op, "convert") == 0;
    if (s->network != NULL && s->network->net->forecast != NULL)
        kiln_net_forecast_text(out, s->network->net->forecast, n_conversions);
    else if (s->facts.n_searched > 0)
        kiln_buf_printf(out,
                        "layouts: as a search chose them for %zu steps; %d conversions "
                        "are left\n",
                        s->facts.n_searched, n_conversions);
}

void kiln_shipped_text(kiln_buf *out, const kiln_shipped *s) {
    const size_t n_steps = s->step.n - s->n_open;
    kiln_buf_printf(out, "%s, %s, %d thread%s: %zu step%s, %zu kernel%s\n",
                    shown(out->arena, s->facts.model), s->facts.profile.name,
                    s->facts.threads > 0 ? s->facts.threads : 1,
                    s->facts.threads > 1 ? "s" : "", n_steps,
                    kiln_plural((int64_t)n_steps), s->kernel.n,
                    kiln_plural((int64_t)s->kernel.n));
    put_search(out, s);
    if (s->results != NULL && s->result_ms > 0) {
        kiln_buf_printf(out, "%s: kiln %.4f ms%s", s->results, s->result_ms,
                        s->rival.n > 0 ? ", " : "");
        put_rivals(out, &s->rival);
        kiln_buf_puts(out, "\n");
    }
    kiln_buf_printf(out, "%4s  %-*s %-12s %-11s %-10s %7s %10s %10s  %s\n", "#",
                    NAME_COLUMN, "step", "operator", "origin", "template", "trials",
                    "best ms", "run ms", "configuration");
    for (size_t i = 0; i < s->step.n; i++) {
        if (i == n_steps)
            kiln_buf_printf(out,
                            "once, when it is opened: %" PRIu64
                            " bytes of packed parameters\n",
                            s->facts.memory.packed);
        put_row(out, s, i);
    }
    kiln_buf_puts(out, "trials, best ms: configurations on record for this very work, "
                       "alone or in a network (--db); run ms: the step in a night "
                       "(--results)\n");
}

static void put_facts(kiln_buf *out, const kiln_shipped *s, size_t step,
                      const kiln_shipped_kernel *k) {
    const kiln_package_kernel *is = &k->is;
    kiln_buf_printf(out, "kernel:   %s, %" PRId64 " bytes of code%s%s\n", is->symbol,
                    is->code_bytes, is->code_sha256 != NULL ? ", SHA-256 " : "",
                    is->code_sha256 != NULL ? is->code_sha256 : "");
    kiln_buf_printf(out, "origin:   %s, template %s\nconfig:   ", is->origin, is->tmpl);
    put_config(out, is->config);
    kiln_buf_printf(out, "\nworkload: %s\n", is->workload);
    for (size_t i = 0; i < s->facts.n_searched; i++)
        if (strcmp(s->facts.searched[i].step, s->step.v[step].name) == 0)
            kiln_buf_printf(out, "layouts:  %s (by a search)\n",
                            shown(out->arena, s->facts.searched[i].types));
    kiln_buf_printf(out,
                    "work:     %" PRId64 " multiply-adds, %" PRId64 " flops, %" PRId64
                    " bytes\n",
                    is->muladds, is->flops, is->bytes);
    if (k->record != NULL)
        kiln_buf_printf(out, "record:   %d configuration%s, best %.4f ms (%s)\n",
                        k->n_tried, kiln_plural(k->n_tried), k->best_ms, k->record);
    else
        kiln_buf_puts(out, "record:   none of this very work, profile and number of "
                           "threads\n");
    if (s->step.v[step].result_ms > 0)
        kiln_buf_printf(out, "run:      %.4f ms (%s)\n", s->step.v[step].result_ms,
                        s->results);
    if (k->rival.n > 0) {
        kiln_buf_puts(out, "vendors:  the same operator alone: ");
        put_rivals(out, &k->rival);
        kiln_buf_puts(out, "\n");
    }
}

kiln_status kiln_shipped_step_text(kiln_buf *out, const kiln_shipped *s, size_t step,
                                   kiln_err *err) {
    KILN_ASSERT(step < s->step.n, "step %zu of %zu", step, s->step.n);
    const kiln_shipped_step *t = &s->step.v[step];
    const kiln_shipped_kernel *k = kernel_of(s, step);
    kiln_str assembly;
    kiln_buf_printf(out, "step %zu of %zu: %s (%s)\n", step + 1, s->step.n,
                    shown(out->arena, t->name), shown(out->arena, t->op));
    if (k == NULL) {
        kiln_buf_puts(out, "a copy, a choice or a repetition: it has no kernel\n");
        return KILN_OK;
    }
    put_facts(out, s, step, k);
    if (k->not_made != NULL)
        kiln_buf_printf(out, "note:     %s\n", k->not_made);
    if (k->schedule != NULL)
        kiln_buf_printf(out, "\n== schedule ==\n%s\n== program ==\n%s", k->schedule,
                        k->program);
    KILN_TRY(kiln_shipped_assembly(out->arena, s, step, &assembly, err));
    kiln_buf_printf(out, "\n== assembly ==\n%.*s", KILN_STR_ARG(assembly));
    return KILN_OK;
}

/* ---- JSON ------------------------------------------------------------------------ */

static void put_known(kiln_json_writer *w, const char *key, double v) {
    kiln_json_member_f64(w, key, v > 0 ? v : (double)NAN); /* NaN is null */
}

static void put_rivals_json(kiln_json_writer *w, const kiln_shipped_rivals *r) {
    kiln_json_name(w, "vendors");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < r->n; i++) {
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", r->v[i].name);
        kiln_json_member_str(w, "version", r->v[i].version);
        kiln_json_member_f64(w, "ms", r->v[i].ms);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

/* Members of a step's object. */
static void put_kernel_json(kiln_json_writer *w, const kiln_shipped_kernel *k,
                            kiln_arena *a) {
    const kiln_json *config = NULL;
    kiln_json_member_str(w, "kernel", k->is.symbol);
    kiln_json_member_str(w, "origin", k->is.origin);
    kiln_json_member_str(w, "template", k->is.tmpl);
    kiln_json_name(w, "config");
    if (kiln_json_parse(a, kiln_str_from(k->is.config), "configuration", &config,
                        NULL) == KILN_OK)
        kiln_json_put(w, config);
    else
        kiln_json_put_null(w);
    kiln_json_member_str(w, "workload", k->is.workload);
    kiln_json_member_i64(w, "multiply_adds", k->is.muladds);
    kiln_json_member_i64(w, "code_bytes", k->is.code_bytes);
    kiln_json_member_i64(w, "trials", k->n_tried);
    put_known(w, "best_ms", k->best_ms);
    kiln_json_member_str(w, "record", k->record);
    put_rivals_json(w, &k->rival);
}

static kiln_status put_code_json(kiln_json_writer *w, kiln_arena *a,
                                 const kiln_shipped *s, size_t step,
                                 const kiln_shipped_kernel *k, kiln_err *err) {
    kiln_str assembly;
    kiln_json_member_str(w, "note", k->not_made);
    kiln_json_member_str(w, "schedule", k->schedule);
    kiln_json_member_str(w, "program", k->program);
    KILN_TRY(kiln_shipped_assembly(a, s, step, &assembly, err));
    kiln_json_name(w, "assembly");
    kiln_json_put_string(w, assembly);
    return KILN_OK;
}

static void put_types_json(kiln_json_writer *w, const char *key,
                           const char *const *type, size_t n) {
    kiln_json_name(w, key);
    if (type == NULL) {
        kiln_json_put_null(w);
        return;
    }
    kiln_json_begin_row(w);
    for (size_t i = 0; i < n; i++)
        kiln_json_put_string(w, kiln_str_from(type[i]));
    kiln_json_end_array(w);
}

static kiln_status put_step_json(kiln_json_writer *w, kiln_arena *a,
                                 const kiln_shipped *s, size_t i, bool wants_code,
                                 kiln_err *err) {
    const kiln_shipped_kernel *k = kernel_of(s, i);
    kiln_json_begin_object(w);
    kiln_json_member_i64(w, "index", (int64_t)i + 1);
    kiln_json_member_str(w, "name", s->step.v[i].name);
    kiln_json_member_str(w, "op", s->step.v[i].op);
    put_known(w, "run_ms", s->step.v[i].result_ms);
    put_types_json(w, "inputs", s->step.v[i].in, s->step.v[i].n_in);
    put_types_json(w, "outputs", s->step.v[i].out, s->step.v[i].n_out);
    if (k != NULL)
        put_kernel_json(w, k, a);
    if (k != NULL && wants_code)
        KILN_TRY(put_code_json(w, a, s, i, k, err));
    kiln_json_end_object(w);
    return KILN_OK;
}

kiln_status kiln_shipped_json(kiln_json_writer *w, const kiln_shipped *s, size_t step,
                              kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "format", "kiln-explain-1");
    kiln_json_member_str(w, "model", s->facts.model);
    kiln_json_member_str(w, "profile", s->facts.profile.name);
    kiln_json_member_i64(w, "threads", s->facts.threads > 0 ? s->facts.threads : 1);
    kiln_json_member_bool(w, "is_package", s->package.folder != NULL);
    kiln_json_member_str(w, "results", s->results);
    put_known(w, "run_ms", s->result_ms);
    put_rivals_json(w, &s->rival);
    const size_t n_steps = s->step.n - s->n_open;
    for (int open = 0; open < 2; open++) {
        kiln_json_name(w, open ? "open_steps" : "steps");
        kiln_json_begin_array(w);
        const size_t end = open ? s->step.n : n_steps;
        for (size_t i = open ? n_steps : 0; i < end; i++) {
            const kiln_status st =
                step == SIZE_MAX || step == i
                    ? put_step_json(w, &scratch, s, i, step == i, err)
                    : KILN_OK;
            if (st != KILN_OK) { /* half a document is nobody's */
                kiln_arena_fini(&scratch);
                return st;
            }
        }
        kiln_json_end_array(w);
    }
    kiln_json_end_object(w);
    kiln_arena_fini(&scratch);
    return KILN_OK;
}
