/* Logs of other tuners, line by line: what is kept, counted, and said. */
#include "pipeline/tune/hints.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 1 << 20, SLACK = 4096 };

/* ---- numbers --------------------------------------------------------------------- */

int64_t kiln_hint_count(const kiln_json *v) {
    int64_t n = 0;
    return kiln_json_i64(v, &n) && n >= 1 && n <= INT32_MAX ? n : 0;
}

kiln_hint_verdict kiln_hint_seconds(const kiln_json *result, double *out,
                                    const char **name) {
    const kiln_json *costs = kiln_json_at(result, 0);
    int64_t error = -1;
    double sum = 0;
    int n = 0;
    *name = "it has no result";
    if (!kiln_json_is_array(result) || !kiln_json_i64(kiln_json_at(result, 1), &error))
        return KILN_HINT_BAD;
    if (error != 0)
        return KILN_HINT_FAILED;
    for (const kiln_json *c = kiln_json_first(costs); c != NULL;
         c = kiln_json_next(c), n++)
        sum += kiln_json_number(c, (double)NAN);
    *name = "its costs must be seconds above 0";
    if (n == 0 || !(sum > 0) || !isfinite(sum))
        return KILN_HINT_BAD;
    *out = sum / n;
    return KILN_HINT_TAKEN;
}

/* ---- what is kept ---------------------------------------------------------------- */

static int by_loops(const kiln_tune_hint *x, const kiln_tune_hint *y) {
    return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1)
                              : memcmp(x->extent, y->extent, sizeof x->extent);
}

static int by_loops_and_time(const void *a, const void *b) {
    const kiln_tune_hint *x = a, *y = b;
    const int order = by_loops(x, y);
    return order != 0                ? order
           : x->seconds < y->seconds ? -1
           : x->seconds > y->seconds ? 1
                                     : memcmp(x->tile, y->tile, sizeof x->tile);
}

static bool is_same(const kiln_tune_hint *x, const kiln_tune_hint *y) {
    return by_loops(x, y) == 0 && x->unroll == y->unroll &&
           memcmp(x->tile, y->tile, sizeof x->tile) == 0 &&
           memcmp(x->block, y->block, sizeof x->block) == 0;
}

/* Of equal loops the fastest few, each once. */
static void thin_out(kiln_tune_hints *h) {
    size_t kept = 0, of_these = 0;
    qsort(h->list.v, h->list.n, sizeof *h->list.v, by_loops_and_time);
    for (size_t i = 0; i < h->list.n; i++) {
        const kiln_tune_hint *x = &h->list.v[i];
        bool is_new = true;
        if (kept == 0 || by_loops(x, &h->list.v[kept - 1]) != 0)
            of_these = 0;
        for (size_t k = kept - of_these; k < kept && is_new; k++)
            is_new = !is_same(x, &h->list.v[k]);
        if (!is_new || of_these == KILN_HINTS_EACH)
            continue;
        h->list.v[kept++] = *x;
        of_these++;
    }
    h->list.n = kept;
}

static void note_stranger(kiln_tune_hints *h, const char *name) {
    h->n_strange++;
    for (size_t i = 0; i < h->stranger.n; i++)
        if (strcmp(h->stranger.v[i].name, name) == 0) {
            h->stranger.v[i].n++;
            return;
        }
    if (h->stranger.n == KILN_HINT_STRANGERS)
        return;
    const kiln_hint_stranger s = {kiln_str_dup(h->arena, name), 1};
    kiln_vec_push(h->arena, &h->stranger, s);
}

static void note_fault(kiln_tune_hints *h, const char *file, size_t line,
                       const char *why) {
    h->n_bad++;
    if (h->fault.n < KILN_HINT_FAULTS)
        kiln_vec_push(h->arena, &h->fault,
                      kiln_format(h->arena, "%s:%zu: %s", file, line, why));
}

/* ---- lines ----------------------------------------------------------------------- */

static kiln_hint_verdict read_line(kiln_arena *scratch, kiln_str line,
                                   kiln_tune_hint out[2], int *n, const char **name) {
    const kiln_json *record = NULL;
    kiln_err err = {.status = KILN_OK};
    *n = 0;
    *name = "the line is longer than 1 MiB";
    if (line.n > MAX_LINE)
        return KILN_HINT_BAD;
    if (kiln_json_parse(scratch, line, "record", &record, &err) != KILN_OK) {
        *name = kiln_str_dup(scratch, err.text);
        return KILN_HINT_BAD;
    }
    if (kiln_json_get(record, "input") != NULL)
        return kiln_hint_of_autotvm(scratch, record, out, n, name);
    if (kiln_json_is_array(kiln_json_at(kiln_json_get(record, "i"), 0)))
        return kiln_hint_of_ansor(scratch, record, out, n, name);
    *name = "neither a record of AutoTVM 0.2 nor one of the auto-scheduler";
    return KILN_HINT_BAD;
}

void kiln_tune_hints_read(kiln_tune_hints *h, kiln_str text, const char *name) {
    kiln_arena scratch = {0};
    kiln_str line;
    size_t next = SLACK;
    for (size_t at = 1; kiln_str_cut(&text, '\n', &line); at++) {
        kiln_tune_hint hint[2];
        const char *what = NULL;
        int n = 0;
        if (kiln_str_trim(line).n == 0)
            continue;
        h->n_records++;
        switch (read_line(&scratch, line, hint, &n, &what)) {
        case KILN_HINT_TAKEN:
            for (int i = 0; i < n; i++)
                kiln_vec_push(h->arena, &h->list, hint[i]);
            break;
        case KILN_HINT_FAILED:
            h->n_failed++;
            break;
        case KILN_HINT_STRANGE:
            note_stranger(h, what);
            break;
        case KILN_HINT_BAD:
            note_fault(h, name, at, what);
            break;
        }
        kiln_arena_reset(&scratch);
        if (h->list.n >= next) {
            thin_out(h);
            next = 2 * h->list.n + SLACK;
        }
    }
    kiln_arena_fini(&scratch);
    if (h->list.n > 0)
        thin_out(h);
}

/* ---- text ------------------------------------------------------------------------ */

void kiln_tune_hints_text(kiln_buf *out, const kiln_tune_hints *h,
                          const kiln_tune_works *works) {
    size_t n_works = 0;
    for (size_t i = 0; i < works->list.n; i++) {
        bool has_any = false;
        for (size_t k = 0; k < h->list.n && !has_any; k++)
            has_any = kiln_hint_is_for(&h->list.v[k], &works->list.v[i].op.workload);
        n_works += has_any;
    }
    kiln_buf_printf(out, "hints: %" PRId64 " record%s, for %zu of %zu kernel%s\n",
                    h->n_records, kiln_plural(h->n_records), n_works, works->list.n,
                    kiln_plural((int64_t)works->list.n));
    if (h->n_failed > 0)
        kiln_buf_printf(out, "  left out: %" PRId64 " that failed there\n",
                        h->n_failed);
    if (h->n_strange > 0) {
        kiln_buf_printf(
            out, "  left out: %" PRId64 " with no counterpart here:", h->n_strange);
        for (size_t i = 0; i < h->stranger.n; i++)
            kiln_buf_printf(out, "%s %s (%" PRId64 ")", i > 0 ? "," : "",
                            h->stranger.v[i].name, h->stranger.v[i].n);
        kiln_buf_puts(out, "\n");
    }
    if (h->n_bad > 0)
        kiln_buf_printf(out, "  left out: %" PRId64 " that are no records\n", h->n_bad);
    for (size_t i = 0; i < h->fault.n; i++)
        kiln_buf_printf(out, "    %s\n", h->fault.v[i]);
}
