/* The model of all work in a database: fitted to every lesson, held out by workload, and
 * kept in the database with what that showed:
 *
 *     kiln transfer model 1 BYTES     of the document, behind this line
 *     {"format": ...}                 what it was fitted to, how it did (below)
 *     (kiln_cost_model_save)
 *
 * A model of other features is found by its version alone, so never by accident; one
 * that is damaged, or of another form, is refused by name. */
#include <math.h>
#include <string.h>

#include "pipeline/tune/transfer_internal.h"

#define MAGIC "kiln transfer model 1"

/* ---- what is kept with it -------------------------------------------------------- */

typedef struct head {
    const char *trained_on;
    int64_t trials;
    kiln_held_out held_out;
    kiln_tune_texts seen, margin;
} head;

#define T head
static const kiln_record_field rows[] = {
    KILN_MEMBER(trained_on, "SHA-256 of the trials that it was fitted to"),
    KILN_MEMBER(trials, "how many these are"),
    KILN_MEMBER_AS("workloads", held_out.n_workloads, "different ones"),
    KILN_MEMBER_AS("judged", held_out.n_judged, "works whose rule was measured"),
    KILN_MEMBER_AS("accuracy", held_out.accuracy, "pairs in order, held out"),
    KILN_MEMBER_AS("gain", held_out.gain, "the rule's time over its choice's"),
    KILN_MEMBER_AS("worst", held_out.worst, "the least of these"),
    KILN_MEMBER_AS("taken", held_out.n_taken, "choices that the gain is of"),
    KILN_MEMBER_TEXTS(
        "margins", margin,
        "of scores, above the rule's: of each template whose choices beat "
        "its rule"),
    KILN_MEMBER_TEXTS("seen", seen, "conditions and shapes"),
};
KILN_RECORD_STATIC(table, rows, "A transfer model")
#undef T

static const kiln_record_document document = {.format_key = "format",
                                              .format = "kiln-transfer-1",
                                              .table = &table,
                                              .docs = "docs/tuning.md",
                                              .what =
                                                  "a transfer model of 'kiln tune'"};

const kiln_cost_model_kind *kiln_tune_teacher_of(const kiln_cost_model_kind *kind) {
    const kiln_cost_model_kind *ensemble = &kiln_cost_model_bootstrap;
    const bool reads_the_same =
        kind->encode == ensemble->encode && kind->version == ensemble->version;
    return reads_the_same ? ensemble : kind;
}

/* ---- making ---------------------------------------------------------------------- */

static void release(void *p) {
    kiln_cost_model_fini(&((kiln_tune_transfer *)p)->model);
}

kiln_status kiln_tune_transfer_learn(kiln_arena *a, kiln_db *db,
                                     const kiln_cost_model_kind *kind,
                                     kiln_tune_transfer **out, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_tune_lessons l;
    kiln_held_out h = {.n_workloads = 0};
    kiln_tune_transfer *t = kiln_new(a, kiln_tune_transfer);
    *out = NULL;
    kiln_status st = kiln_tune_lessons_read(&scratch, db, kind, &l, err);
    if (st == KILN_OK)
        st = kiln_held_out_score(kind, NULL, l.list.v, l.list.n, &h, err);
    if (st == KILN_OK && h.n_judged > 0) {
        st = kiln_cost_model_init(&t->model, kind, NULL, err);
        kiln_arena_defer(a, release, t);
        if (st == KILN_OK)
            st = kiln_lessons_fit(&t->model, l.list.v, l.list.n, err);
        t->held_out = h;
        t->model.origin.held_out = h.accuracy;
        t->n_trials = l.n_trials;
        t->sha256 = kiln_str_dup(a, l.sha256);
        for (size_t i = 0; i < l.seen.n; i++)
            kiln_vec_push(a, &t->seen, kiln_str_dup(a, l.seen.v[i]));
        if (st == KILN_OK)
            *out = t;
    }
    kiln_arena_fini(&scratch);
    return st;
}

/* ---- margins as text ------------------------------------------------------------- */

static void write_margins(kiln_arena *a, const kiln_held_out *h, kiln_tune_texts *out) {
    *out = (kiln_tune_texts){.n = 0};
    if (isfinite(h->margin))
        kiln_vec_push(a, out, kiln_format(a, "* %.17g", h->margin));
    for (int i = 0; i < h->n_of; i++)
        kiln_vec_push(a, out,
                      kiln_format(a, "%s %.17g", h->of[i].tmpl, h->of[i].margin));
}

static kiln_status read_margins(kiln_arena *a, const kiln_tune_texts *texts,
                                kiln_held_out *h, kiln_err *err) {
    h->n_of = 0;
    h->margin = (double)INFINITY;
    for (size_t i = 0; i < texts->n; i++) {
        kiln_str rest = kiln_str_from(texts->v[i]), name;
        double margin = 0;
        if (!kiln_str_cut(&rest, ' ', &name) || !kiln_parse_f64(rest, &margin) ||
            !(margin >= 0) || h->n_of == KILN_HELD_OUT_TEMPLATES)
            return kiln_fail(err, KILN_ERR_PARSE, "'%s' is no margin of a template",
                             kiln_str_printable(a, kiln_str_from(texts->v[i]), 64));
        if (kiln_str_is(name, "*"))
            h->margin = margin;
        else
            h->of[h->n_of++] = (kiln_held_out_margin){kiln_str_dupv(a, name), margin};
    }
    return KILN_OK;
}

/* ---- kept ------------------------------------------------------------------------ */

kiln_status kiln_tune_transfer_keep(kiln_db *db, const kiln_tune_transfer *t,
                                    kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_buf text, bytes;
    head h = {t->sha256, t->n_trials, t->held_out, t->seen, {.n = 0}};
    write_margins(&scratch, &t->held_out, &h.margin);
    kiln_buf_init(&text, &scratch);
    kiln_buf_init(&bytes, &scratch);
    kiln_record_write(&text, &document, &h);
    kiln_buf_printf(&bytes, MAGIC " %zu\n", text.n);
    kiln_buf_add(&bytes, text.p, text.n);
    kiln_status st = kiln_cost_model_save(&t->model, &bytes, err);
    const kiln_db_model m = {t->model.kind->name, KILN_DB_ALL_WORK,
                             t->model.kind->version, t->n_trials, kiln_buf_str(&bytes)};
    if (st == KILN_OK)
        st = kiln_db_put_model(db, &m, err);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status read_model(kiln_arena *a, kiln_str rest,
                              const kiln_cost_model_kind *kind, kiln_tune_transfer *out,
                              kiln_err *err) {
    kiln_str line;
    int64_t n = 0;
    head h;
    if (!kiln_str_cut(&rest, '\n', &line) || !kiln_str_starts(line, MAGIC " ") ||
        !kiln_parse_i64((kiln_str){line.p + sizeof MAGIC, line.n - sizeof MAGIC}, &n) ||
        n < 0 || (size_t)n > rest.n)
        return kiln_fail(err, KILN_ERR_PARSE, "this is no '%s'", MAGIC);
    KILN_TRY(kiln_record_parse(a, (kiln_str){rest.p, (size_t)n}, "its head", &document,
                               &h, err));
    if (h.trained_on == NULL)
        return kiln_fail(err, KILN_ERR_PARSE, "it does not say what it was fitted to");
    KILN_TRY(read_margins(a, &h.margin, &h.held_out, err));
    *out = (kiln_tune_transfer){.held_out = h.held_out,
                                .n_trials = h.trials,
                                .sha256 = h.trained_on,
                                .seen = h.seen};
    return kiln_cost_model_load(&out->model, kind, rest.p + n, rest.n - (size_t)n, err);
}

kiln_status kiln_tune_transfer_open(kiln_arena *a, kiln_db *db,
                                    const kiln_cost_model_kind *kind,
                                    const kiln_tune_transfer **out, kiln_err *err) {
    kiln_db_model stored;
    bool found = false;
    kind = kiln_tune_teacher_of(kind);
    *out = NULL;
    KILN_TRY(kiln_db_get_model(db, a, kind->name, KILN_DB_ALL_WORK, kind->version,
                               &found, &stored, err));
    if (!found)
        return KILN_OK;
    kiln_tune_transfer *t = kiln_new(a, kiln_tune_transfer);
    const kiln_status st = read_model(a, stored.bytes, kind, t, err);
    if (st != KILN_OK) {
        kiln_note(err,
                  "reading the model of all work in '%s'; 'kiln db learn' makes "
                  "it anew",
                  kiln_db_path(db));
        return st;
    }
    kiln_arena_defer(a, release, t);
    *out = t;
    return KILN_OK;
}

bool kiln_tune_transfer_take(kiln_db *db, const kiln_cost_model_kind *kind,
                             kiln_cost_model *out) {
    kiln_arena scratch = {0};
    kiln_db_model stored;
    kiln_tune_transfer t;
    bool found = false;
    kind = kiln_tune_teacher_of(kind);
    const bool taken =
        kiln_db_get_model(db, &scratch, kind->name, KILN_DB_ALL_WORK, kind->version,
                          &found, &stored, NULL) == KILN_OK &&
        found && read_model(&scratch, stored.bytes, kind, &t, NULL) == KILN_OK;
    if (taken)
        *out = t.model;
    kiln_arena_fini(&scratch);
    return taken;
}

kiln_status kiln_tune_transfer_renew(kiln_arena *a, kiln_db *db,
                                     const kiln_cost_model_kind *kind,
                                     const kiln_tune_transfer **out, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_tune_lessons now;
    kiln_tune_transfer *made = NULL;
    const kiln_tune_transfer *old = NULL;
    kiln_status st = kiln_tune_lessons_read(&scratch, db, NULL, &now, err);
    kiln_arena_fini(&scratch);
    if (st != KILN_OK)
        return st;
    /* One that cannot be read is made anew. */
    if (kiln_tune_transfer_open(a, db, kind, &old, NULL) == KILN_OK && old != NULL &&
        strcmp(old->sha256, now.sha256) == 0) {
        *out = old;
        return KILN_OK;
    }
    KILN_TRY(kiln_tune_transfer_learn(a, db, kiln_tune_teacher_of(kind), &made, err));
    *out = made;
    return made != NULL ? kiln_tune_transfer_keep(db, made, err) : KILN_OK;
}

void kiln_tune_transfer_text(kiln_buf *out, const kiln_tune_transfer *t) {
    const kiln_held_out *h = &t->held_out;
    kiln_buf_printf(out,
                    "a model of %lld trials of %d workloads; of workloads that it had "
                    "not seen it ordered %.0f%% of all pairs, and its choice took "
                    "%.2f of the rule's time (%d of %d works, worst %.2f)%s\n",
                    (long long)t->n_trials, h->n_workloads, h->accuracy * 100,
                    1 / h->gain, h->n_taken, h->n_judged, 1 / h->worst,
                    kiln_held_out_beats_rule(h) ? ""
                                                : ": not enough to choose for builds");
}
