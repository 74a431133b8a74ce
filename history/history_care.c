/* Looking after the history: is the file sound, what is no longer there. */
#include "history/history_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_LINES = 100 };

/* ---- digests --------------------------------------------------------------------- */

/* What may change later is no part of it. */
static void digest_of(const kiln_night *n, char hex[KILN_SHA256_HEX]) {
    kiln_arena scratch = {0};
    kiln_night plain = *n;
    const kiln_nights one = {.v = &plain, .n = 1};
    kiln_buf text;
    plain.seq = plain.bytes = 0;
    plain.is_pruned = false;
    kiln_buf_init(&text, &scratch);
    kiln_nights_json(&text, &one);
    kiln_sha256_of(text.p, text.n, hex);
    kiln_arena_fini(&scratch);
}

static kiln_status set_digest(kiln_history *h, int64_t seq, const char *hex,
                              kiln_err *err) {
    kiln_query q = {0};
    KILN_TRY(kiln_query_open(h->sql, "UPDATE night SET digest = ?1 WHERE seq = ?2", &q,
                             err));
    kiln_query_text(&q, 1, hex);
    kiln_query_i64(&q, 2, seq);
    const kiln_status st = kiln_query_run(&q, err);
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_history_seal(kiln_history *h, int64_t seq, kiln_err *err) {
    KILN_ASSERT(seq > 0, "night %" PRId64, seq);
    kiln_arena scratch = {0};
    kiln_nights n = {.n = 0};
    char hex[KILN_SHA256_HEX] = "";
    kiln_status st = kiln_history_read_some(h, &scratch, NULL, seq, 1, &n, err);
    if (st == KILN_OK && n.n == 1)
        digest_of(&n.v[0], hex);
    kiln_arena_fini(&scratch);
    return st == KILN_OK ? set_digest(h, seq, hex, err) : st;
}

static kiln_status read_digest(kiln_history *h, kiln_arena *a, int64_t seq,
                               const char **out, kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    *out = "";
    kiln_status st =
        kiln_query_open(h->sql, "SELECT digest FROM night WHERE seq = ?1", &q, err);
    if (st == KILN_OK) {
        kiln_query_i64(&q, 1, seq);
        st = kiln_query_step(&q, &has_row, err);
    }
    if (st == KILN_OK && has_row)
        *out = kiln_query_get_text(&q, 0, a);
    kiln_query_close(&q);
    return st;
}

static kiln_status check_digests(kiln_history *h, kiln_arena *a,
                                 kiln_history_names *out, kiln_err *err) {
    kiln_nights n;
    KILN_TRY(kiln_history_read(h, a, NULL, SIZE_MAX / 2, &n, err));
    for (size_t i = 0; i < n.n && out->n < MAX_LINES; i++) {
        char hex[KILN_SHA256_HEX];
        const char *want = NULL;
        KILN_TRY(read_digest(h, a, n.v[i].seq, &want, err));
        digest_of(&n.v[i], hex);
        if (strcmp(hex, want) != 0)
            kiln_vec_push(
                a, out,
                kiln_format(a,
                            "night %lld (%s): it is not what was appended; "
                            "'kiln history add %s' writes it again, while its "
                            "folder is there",
                            (long long)n.v[i].seq, n.v[i].run, n.v[i].folder));
    }
    return KILN_OK;
}

/* ---- what is no longer there ----------------------------------------------------- */

kiln_status kiln_history_set_pruned(kiln_history *h, const char *folder,
                                    kiln_err *err) {
    kiln_query q = {0};
    KILN_TRY(kiln_query_open(
        h->sql, "UPDATE night SET is_pruned = 1, bytes = 0 WHERE folder = ?1", &q,
        err));
    kiln_query_text(&q, 1, folder);
    const kiln_status st = kiln_query_run(&q, err);
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_history_forget(kiln_history *h, int64_t keep, int64_t *n_gone,
                                kiln_err *err) {
    kiln_query q = {0};
    KILN_TRY(kiln_query_open(
        h->sql,
        "WITH aged AS ("
        "  SELECT seq, row_number() OVER ("
        "    PARTITION BY pipeline ORDER BY seq DESC) AS age FROM night)"
        " DELETE FROM night WHERE seq IN (SELECT seq FROM aged WHERE age > ?1)",
        &q, err));
    kiln_query_i64(&q, 1, keep);
    const kiln_status st = kiln_query_run(&q, err);
    kiln_query_close(&q);
    if (st == KILN_OK)
        *n_gone = kiln_sql_n_changed(h->sql);
    return st;
}

/* ---- check ----------------------------------------------------------------------- */

static kiln_status ask_all(kiln_history *h, kiln_arena *a, kiln_history_names *out,
                           kiln_err *err) {
    kiln_sql_faults found;
    const kiln_status st = kiln_sql_check(h->sql, a, &found, err);
    /* Also those that were found before it failed. */
    for (size_t i = 0; i < found.n && out->n < MAX_LINES; i++)
        kiln_vec_push(
            a, out,
            found.v[i].text != NULL
                ? found.v[i].text
                : kiln_format(a, "a row of %s belongs to no night", found.v[i].table));
    return st == KILN_OK ? check_digests(h, a, out, err) : st;
}

/* What it stumbles over while it checks is a finding too. */
kiln_status kiln_history_check(kiln_history *h, kiln_arena *a, kiln_history_names *out,
                               kiln_err *err) {
    kiln_err why = {.status = KILN_OK};
    *out = (kiln_history_names){.n = 0};
    const kiln_status st = ask_all(h, a, out, &why);
    if (st == KILN_OK)
        return KILN_OK;
    if (st != KILN_ERR_PARSE)
        return kiln_fail(err, st, "%s", why.text);
    kiln_vec_push(a, out, kiln_str_dup(a, why.text));
    return KILN_OK;
}
