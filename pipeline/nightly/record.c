/* A night among others (docs/history.md): what the history says of it, its own entry
 * there, the page over all nights, and old runs that may go.
 *
 * Nothing here may cost the night its results: what goes wrong is said in them. */
#include "pipeline/nightly/nightly_internal.h"

#include <string.h>

#include "history/history.h"
#include "pipeline/gate/gate.h"

static const char *path_of(const night *n) {
    const kiln_nightly_config *c = n->c;
    return c->history != NULL ? c->history
           : c->accepted != NULL
               ? kiln_path_join(n->arena, c->accepted, KILN_HISTORY_FILE)
               : kiln_path_join(n->arena, c->out, KILN_HISTORY_FILE);
}

static kiln_status open_it(const night *n, kiln_history **out, kiln_err *err) {
    const kiln_history_options o = {.may_make = true};
    return kiln_history_open(n->arena, path_of(n), &o, out, err);
}

/* Links in the path would make two nights of one. */
static const char *real_folder(const night *n) {
    const char *real = NULL;
    return kiln_path_real(n->arena, n->run, &real, NULL) == KILN_OK ? real : n->run;
}

/* The nights before, without this one where it was appended before a kill. */
static kiln_status read_before(const night *n, kiln_nights *out, kiln_err *err) {
    kiln_history *h = NULL;
    kiln_nights all;
    const char *own = real_folder(n);
    KILN_TRY(open_it(n, &h, err));
    const kiln_status st =
        kiln_history_read(h, n->arena, n->c->name, KILN_NIGHTS_MOST - 1, &all, err);
    kiln_history_close(h);
    for (size_t i = 0; st == KILN_OK && i < all.n; i++)
        if (strcmp(all.v[i].folder, own) != 0)
            kiln_vec_push(n->arena, out, all.v[i]);
    return st;
}

static void has_failed(const night *n, const kiln_err *why, kiln_results *r) {
    const char *text = kiln_str_printable(n->arena, kiln_str_from(why->text), 600);
    r->has_past = true;
    r->past.problem =
        kiln_format(n->arena, "%s; 'kiln history add %s %s' appends this night later",
                    text, path_of(n), n->run);
    r->failure = r->failure != NULL ? r->failure : "the history of nights was not kept";
    r->status = strcmp(r->status, "ok") == 0 ? "failed" : r->status;
}

/* Part of a pipeline is no night among nights: jobs would come and go. */
static void leave_out(const night *n, kiln_results *r) {
    kiln_buf text;
    kiln_buf_init(&text, n->arena);
    kiln_buf_puts(&text, "it is a part of the pipeline:");
    for (size_t i = 0; i < n->c->only.n; i++) {
        kiln_buf_put_word(&text, "--only");
        kiln_buf_put_word(&text, n->c->only.v[i]);
    }
    r->has_past = true;
    r->past.problem = text.p;
}

void kiln_nightly_recall(const night *n, kiln_results *r) {
    kiln_err why = {.status = KILN_OK};
    kiln_nights nights = {.n = 0};
    if (n->c->only.n > 0) {
        leave_out(n, r);
        return;
    }
    if (read_before(n, &nights, &why) != KILN_OK) {
        has_failed(n, &why, r);
        return;
    }
    const kiln_night tonight = kiln_night_of(n->arena, r);
    kiln_vec_push(n->arena, &nights, tonight);
    kiln_nights_fill(n->arena, &nights, n->c->drift_fails, r);
    kiln_results_derive(n->arena, r);
}

static kiln_status append(const night *n, const kiln_results *r, kiln_err *err) {
    kiln_history *h = NULL;
    kiln_night tonight = kiln_night_of(n->arena, r);
    tonight.folder = real_folder(n);
    KILN_TRY(kiln_history_bytes(n->run, &tonight.bytes, err));
    KILN_TRY(open_it(n, &h, err));
    const kiln_status st = kiln_history_append(h, &tonight, err);
    kiln_history_close(h);
    return st;
}

bool kiln_nightly_record(const night *n, kiln_results *r) {
    kiln_err why = {.status = KILN_OK};
    if (r->past.problem != NULL)
        return true; /* said already */
    if (append(n, r, &why) == KILN_OK)
        return true;
    has_failed(n, &why, r);
    return false;
}

/* ---- afterwards ------------------------------------------------------------------ */

typedef KILN_VEC(const char *) names;

static void add_archives(kiln_arena *a, const kiln_accepted *e, size_t n, names *out) {
    for (size_t i = 0; i < n; i++)
        kiln_vec_push(a, out, e[i].sha256);
}

static kiln_status find_needed(const night *n, names *out, kiln_err *err) {
    kiln_accepted_list list;
    if (n->c->accepted == NULL)
        return KILN_OK;
    KILN_TRY(kiln_accepted_read(n->arena, n->c->accepted, &list, err));
    add_archives(n->arena, list.now.v, list.now.n, out);
    add_archives(n->arena, list.frozen.v, list.frozen.n, out);
    return KILN_OK;
}

static kiln_status prune(const night *n, kiln_history *h, const char **said,
                         kiln_err *err) {
    names needed = {.n = 0};
    kiln_history_pruning p;
    kiln_buf text;
    if (n->c->keep_nights == 0 && !(n->c->keep_gb > 0))
        return KILN_OK;
    KILN_TRY(find_needed(n, &needed, err));
    const kiln_history_keep keep = {.nights = n->c->keep_nights,
                                    .gb = n->c->keep_gb,
                                    .needed = needed.v,
                                    .n_needed = needed.n};
    KILN_TRY(kiln_history_prune(h, n->arena, n->c->out, &keep, &p, err));
    kiln_buf_init(&text, n->arena);
    kiln_history_pruning_text(&text, &p, false);
    *said = text.p;
    return KILN_OK;
}

static kiln_status tidy(const night *n, const char **said, kiln_err *err) {
    kiln_history *h = NULL;
    KILN_TRY(open_it(n, &h, err));
    kiln_status st = prune(n, h, said, err);
    if (st == KILN_OK)
        st = kiln_history_write_index(h, n->c->name, n->c->out, err);
    kiln_history_close(h);
    return st;
}

void kiln_nightly_tidy(const night *n, kiln_nightly_result *out) {
    kiln_err why = {.status = KILN_OK};
    if (out->results.past.problem != NULL)
        return;
    if (tidy(n, &out->pruned, &why) != KILN_OK)
        out->untidy = kiln_str_dup(n->arena, why.text);
}

/* ---- for a terminal -------------------------------------------------------------- */

void kiln_nightly_put_history(kiln_buf *out, const kiln_nightly_result *result) {
    const kiln_results *r = &result->results;
    for (size_t i = 0; i < r->job.n; i++) {
        const kiln_results_job *j = &r->job.v[i];
        const char *trend = j->has_history ? j->history.trend : NULL;
        if (trend != NULL && strcmp(trend, "stable") != 0)
            kiln_buf_printf(out, "%s, %s, %d: against the frozen archive: %s: %s\n",
                            j->model, j->profile, j->threads, trend, j->history.reason);
    }
    if (r->past.problem != NULL)
        kiln_buf_printf(out, "history: not in it: %s\n", r->past.problem);
    else if (r->has_past)
        kiln_buf_printf(out, "history: night %lld of %s\n", (long long)r->past.nights,
                        r->name);
    if (r->past.note != NULL)
        kiln_buf_printf(out, "history: %s\n", r->past.note);
    if (result->pruned != NULL)
        kiln_buf_puts(out, result->pruned);
    if (result->untidy != NULL)
        kiln_buf_printf(out,
                        "the night is kept, the page over all nights or old runs "
                        "are not as they should be: %s\n",
                        result->untidy);
}
