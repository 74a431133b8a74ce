/* Two runs side by side: see reports_compare.h. */
#include "reports/text/reports_compare.h"

#include <math.h>
#include <string.h>

static bool is_same(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}
static const char *word(const char *text) { return text != NULL ? text : "not known"; }

static void tell(kiln_arena *a, kiln_compare_lines *out, const char *what,
                 const char *x, const char *y) {
    if (!is_same(x, y))
        kiln_vec_push(a, out,
                      kiln_format(a, "%s: %s, then %s", what, word(x), word(y)));
}

static const char *digits(kiln_arena *a, const char *sha256) {
    enum { DIGITS = 12 };
    return sha256 == NULL ? NULL : kiln_format(a, "%.*s", DIGITS, sha256);
}

/* ---- configurations -------------------------------------------------------------- */

/* A value as JSON, on one line. */
static const char *shown(kiln_arena *a, const kiln_json *v) {
    enum { MOST = 120 };
    kiln_buf out;
    kiln_json_writer w;
    if (v == NULL)
        return "absent";
    kiln_buf_init(&out, a);
    kiln_json_writer_init(&w, &out);
    kiln_json_put(&w, v);
    return kiln_str_printable(a, kiln_buf_str(&out), MOST);
}

static const kiln_json *config_of(kiln_arena *a, const char *text) {
    const kiln_json *v = NULL;
    if (text == NULL ||
        kiln_json_parse(a, kiln_str_from(text), "best", &v, NULL) != KILN_OK ||
        !kiln_json_is_object(v))
        return NULL;
    return v;
}

/* "tile 16, then 32; unroll absent, then 4": knobs that differ, of both. */
static const char *knobs(kiln_arena *a, const kiln_json *x, const kiln_json *y) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    kiln_buf_puts(&out, "");
    const kiln_json *const side[] = {x, y};
    for (int s = 0; s < 2; s++)
        for (const kiln_json *m = kiln_json_first(side[s]); m != NULL;
             m = kiln_json_next(m)) {
            const char *key = kiln_json_key(m);
            const kiln_json *of_x = kiln_json_get(x, key),
                            *of_y = kiln_json_get(y, key);
            if ((s == 1 && of_x != NULL) || is_same(shown(a, of_x), shown(a, of_y)))
                continue;
            kiln_buf_printf(&out, "%s%s %s, then %s", out.n > 0 ? "; " : "", key,
                            shown(a, of_x), shown(a, of_y));
        }
    return out.p;
}

static const kiln_results_work *find_work(const kiln_results_tuning *t,
                                          const char *name) {
    for (size_t i = 0; i < t->work.n; i++)
        if (is_same(t->work.v[i].name, name))
            return &t->work.v[i];
    return NULL;
}

static void tell_works(kiln_arena *a, const kiln_results_job *x,
                       const kiln_results_job *y, kiln_compare_lines *out) {
    for (size_t i = 0; i < y->tuning.work.n; i++) {
        const kiln_results_work *now = &y->tuning.work.v[i];
        const kiln_results_work *was = find_work(&x->tuning, now->name);
        if (was == NULL || is_same(was->best, now->best))
            continue;
        const kiln_json *before = config_of(a, was->best),
                        *after = config_of(a, now->best);
        const char *differ =
            before != NULL && after != NULL
                ? knobs(a, before, after)
                : kiln_format(a, "%s, then %s", word(was->best), word(now->best));
        if (differ[0] != '\0')
            kiln_vec_push(a, out,
                          kiln_format(a, "workload %s: %s", word(now->name), differ));
    }
}

/* ---- steps ----------------------------------------------------------------------- */

static const kiln_results_step *find_step(const kiln_results_job *j, const char *name) {
    for (size_t i = 0; i < j->step.n; i++)
        if (is_same(j->step.v[i].name, name))
            return &j->step.v[i];
    return NULL;
}

static void add_part(kiln_buf *out, const char *what, const char *x, const char *y) {
    if (!is_same(x, y))
        kiln_buf_printf(out, "%s%s %s, then %s", out->n > 0 ? "; " : "", what, word(x),
                        word(y));
}

/* By how much a step's time must differ to be named: a fifth, and a hundredth of the
 * run. There is one median of each, without an interval. */
static bool is_other_time(const kiln_results_job *y, double before, double after) {
    static const double least = 0.2, of_run = 0.01;
    const double change = fabs(after - before);
    return before > 0 && after > 0 && change > least * before &&
           change > of_run * y->latency.median_ms;
}

static void tell_step(kiln_arena *a, const kiln_results_job *y,
                      const kiln_results_step *was, const kiln_results_step *now,
                      kiln_compare_lines *out) {
    kiln_buf line;
    kiln_buf_init(&line, a);
    kiln_buf_puts(&line, "");
    add_part(&line, "template", was->tmpl, now->tmpl);
    add_part(&line, "origin", was->origin, now->origin);
    add_part(&line, "epilogue", was->epilogue, now->epilogue);
    add_part(&line, "input", was->layout_in, now->layout_in);
    add_part(&line, "output", was->layout_out, now->layout_out);
    if (is_other_time(y, was->median_ms, now->median_ms))
        kiln_buf_printf(&line, "%s%.4f ms, then %.4f ms", line.n > 0 ? "; " : "",
                        was->median_ms, now->median_ms);
    if (line.n > 0)
        kiln_vec_push(a, out, kiln_format(a, "step %s: %s", word(now->name), line.p));
}

static void tell_steps(kiln_arena *a, const kiln_results_job *x,
                       const kiln_results_job *y, kiln_compare_lines *out) {
    if (x->step.n == 0 || y->step.n == 0)
        return;
    for (size_t i = 0; i < y->step.n; i++) {
        const kiln_results_step *was = find_step(x, y->step.v[i].name);
        if (was != NULL)
            tell_step(a, y, was, &y->step.v[i], out);
        else
            kiln_vec_push(a, out,
                          kiln_format(a, "step %s: new", word(y->step.v[i].name)));
    }
    for (size_t i = 0; i < x->step.n; i++)
        if (find_step(y, x->step.v[i].name) == NULL)
            kiln_vec_push(a, out,
                          kiln_format(a, "step %s: gone", word(x->step.v[i].name)));
}

/* ---- jobs ------------------------------------------------------------------------ */

static const kiln_results_job *find_job(const kiln_results *r,
                                        const kiln_results_job *like) {
    for (size_t i = 0; i < r->job.n; i++)
        if (r->job.v[i].threads == like->threads &&
            is_same(r->job.v[i].model, like->model) &&
            is_same(r->job.v[i].profile, like->profile))
            return &r->job.v[i];
    return NULL;
}

static const char *archive_of(const kiln_results_job *j) {
    return j->has_archive ? j->archive.sha256 : NULL;
}

static void tell_baselines(kiln_arena *a, const kiln_results_job *x,
                           const kiln_results_job *y, kiln_compare_lines *out) {
    for (size_t i = 0; i < y->baseline.n; i++)
        for (size_t k = 0; k < x->baseline.n; k++) {
            const kiln_results_baseline *now = &y->baseline.v[i];
            const kiln_results_baseline *was = &x->baseline.v[k];
            if (!is_same(now->name, was->name))
                continue;
            tell(a, out, kiln_format(a, "%s", word(now->name)), was->state, now->state);
            tell(a, out, kiln_format(a, "%s's version", word(now->name)), was->version,
                 now->version);
            if (now->ratio.low > was->ratio.high || now->ratio.high < was->ratio.low)
                kiln_vec_push(a, out,
                              kiln_format(a,
                                          "kiln / %s: %.3f (%.3f to %.3f), then %.3f "
                                          "(%.3f to %.3f)",
                                          word(now->name), was->ratio.estimate,
                                          was->ratio.low, was->ratio.high,
                                          now->ratio.estimate, now->ratio.low,
                                          now->ratio.high));
        }
}

static kiln_compare_job named(const kiln_results_job *of, const kiln_results_job *x,
                              const kiln_results_job *y) {
    return (kiln_compare_job){.model = of->model,
                              .profile = of->profile,
                              .threads = of->threads,
                              .a = x,
                              .b = y,
                              .ratio = (double)NAN};
}

/* One of them may be NULL: the job is in one run alone. */
static kiln_compare_job compare_job(kiln_arena *a, const kiln_results_job *x,
                                    const kiln_results_job *y) {
    if (x == NULL)
        return named(y, x, y);
    kiln_compare_job out = named(x, x, y);
    if (y == NULL)
        return out;
    if (x->has_latency && y->has_latency && x->latency.median_ms > 0 &&
        y->latency.median_ms > 0) {
        out.ratio = y->latency.median_ms / x->latency.median_ms;
        out.is_apart =
            y->latency.q1_ms > x->latency.q3_ms || y->latency.q3_ms < x->latency.q1_ms;
    }
    tell(a, &out.why, "status", x->status, y->status);
    tell(a, &out.why, "gate", x->has_gate ? x->gate.verdict : NULL,
         y->has_gate ? y->gate.verdict : NULL);
    tell(a, &out.why, "archive", digits(a, archive_of(x)), digits(a, archive_of(y)));
    tell(a, &out.why, "accepted archive",
         digits(a, x->has_gate ? x->gate.accepted_sha256 : NULL),
         digits(a, y->has_gate ? y->gate.accepted_sha256 : NULL));
    tell_steps(a, x, y, &out.why);
    tell_works(a, x, y, &out.why);
    tell_baselines(a, x, y, &out.why);
    return out;
}

static void tell_around(kiln_arena *a, const kiln_results *x, const kiln_results *y,
                        kiln_compare_lines *out) {
    tell(a, out, "pipeline", x->name, y->name);
    tell(a, out, "kiln", x->kiln, y->kiln);
    tell(a, out, "commit", x->commit, y->commit);
    tell(a, out, "processor", x->machine.cpu, y->machine.cpu);
    tell(a, out, "operating system", x->machine.os, y->machine.os);
    if (x->machine.cores != y->machine.cores)
        kiln_vec_push(
            a, out,
            kiln_format(a, "cores: %d, then %d", x->machine.cores, y->machine.cores));
    if (x->machine.memory_bytes != y->machine.memory_bytes)
        kiln_vec_push(a, out,
                      kiln_format(a, "memory: %lld bytes, then %lld",
                                  (long long)x->machine.memory_bytes,
                                  (long long)y->machine.memory_bytes));
}

void kiln_compare_results(kiln_arena *a, const kiln_results *x, const kiln_results *y,
                          kiln_compare *out) {
    *out = (kiln_compare){.a = x, .b = y};
    tell_around(a, x, y, &out->around);
    for (size_t i = 0; i < x->job.n; i++)
        kiln_vec_push(a, &out->job,
                      compare_job(a, &x->job.v[i], find_job(y, &x->job.v[i])));
    for (size_t i = 0; i < y->job.n; i++)
        if (find_job(x, &y->job.v[i]) == NULL)
            kiln_vec_push(a, &out->job, compare_job(a, NULL, &y->job.v[i]));
    for (size_t i = 0; i < out->job.n; i++) {
        const kiln_compare_job *j = &out->job.v[i];
        out->n_differ += j->why.n > 0 || j->is_apart || j->a == NULL || j->b == NULL;
    }
}

/* ---- written down ---------------------------------------------------------------- */

static void put_latency(kiln_buf *out, const kiln_results_job *j) {
    if (j != NULL && j->has_latency && j->latency.median_ms > 0)
        kiln_buf_printf(out, "%.4f ms (%.4f to %.4f)", j->latency.median_ms,
                        j->latency.q1_ms, j->latency.q3_ms);
    else
        kiln_buf_puts(out, j == NULL ? "no such job" : "not measured");
}

void kiln_compare_text(kiln_buf *out, const kiln_compare *c) {
    kiln_buf_printf(out, "a: %s of %s\nb: %s of %s\n", word(c->a->run),
                    word(c->a->name), word(c->b->run), word(c->b->name));
    for (size_t i = 0; i < c->around.n; i++)
        kiln_buf_printf(out, "%s\n", c->around.v[i]);
    for (size_t i = 0; i < c->job.n; i++) {
        const kiln_compare_job *j = &c->job.v[i];
        kiln_buf_printf(out, "\n%s, %s, %d thread%s: ", word(j->model),
                        word(j->profile), j->threads, j->threads == 1 ? "" : "s");
        put_latency(out, j->a);
        kiln_buf_puts(out, ", then ");
        put_latency(out, j->b);
        if (isfinite(j->ratio))
            kiln_buf_printf(out, ": %.3f%s", j->ratio,
                            j->is_apart ? "" : " (middle halves meet)");
        kiln_buf_puts(out, "\n");
        for (size_t k = 0; k < j->why.n; k++)
            kiln_buf_printf(out, "  %s\n", j->why.v[k]);
    }
    kiln_buf_printf(out,
                    "\n%d of %zu job%s differ%s; times in brackets are the middle half "
                    "of samples. Other nights, other machine states: what is slower "
                    "for sure, the gate says\n",
                    c->n_differ, c->job.n, kiln_plural((int64_t)c->job.n),
                    c->n_differ == 1 ? "s" : "");
}

static void put_lines(kiln_json_writer *w, const char *key,
                      const kiln_compare_lines *lines) {
    kiln_json_name(w, key);
    kiln_json_begin_array(w);
    for (size_t i = 0; i < lines->n; i++)
        kiln_json_put_string(w, kiln_str_from(lines->v[i]));
    kiln_json_end_array(w);
}

static void put_side(kiln_json_writer *w, const char *key, const kiln_results_job *j) {
    kiln_json_name(w, key);
    if (j == NULL) {
        kiln_json_put_null(w);
        return;
    }
    const bool is = j->has_latency && j->latency.median_ms > 0;
    kiln_json_begin_object(w);
    kiln_json_member_f64(w, "median_ms", is ? j->latency.median_ms : (double)NAN);
    kiln_json_member_f64(w, "q1_ms", is ? j->latency.q1_ms : (double)NAN);
    kiln_json_member_f64(w, "q3_ms", is ? j->latency.q3_ms : (double)NAN);
    kiln_json_member_str(w, "status", j->status);
    kiln_json_member_str(w, "verdict", j->has_gate ? j->gate.verdict : NULL);
    kiln_json_member_str(w, "archive", archive_of(j));
    kiln_json_end_object(w);
}

void kiln_compare_json(kiln_buf *out, const kiln_compare *c) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "format", "kiln-compare-1");
    kiln_json_member_str(&w, "a", c->a->run);
    kiln_json_member_str(&w, "b", c->b->run);
    put_lines(&w, "around", &c->around);
    kiln_json_member_i64(&w, "differ", c->n_differ);
    kiln_json_name(&w, "jobs");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < c->job.n; i++) {
        const kiln_compare_job *j = &c->job.v[i];
        kiln_json_begin_object(&w);
        kiln_json_member_str(&w, "model", j->model);
        kiln_json_member_str(&w, "profile", j->profile);
        kiln_json_member_i64(&w, "threads", j->threads);
        put_side(&w, "a", j->a);
        put_side(&w, "b", j->b);
        kiln_json_member_f64(&w, "ratio", j->ratio);
        kiln_json_member_bool(&w, "is_apart", j->is_apart);
        put_lines(&w, "why", &j->why);
        kiln_json_end_object(&w);
    }
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}
