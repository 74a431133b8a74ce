/* The file of the history: opened, appended to, read. */
#include "history/history_internal.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static const char remedy[] =
    "move it away, or bring back the copy of yesterday: the next night begins a new "
    "one, and 'kiln history add OUT/RUN...' puts nights back whose folders are there";

kiln_status kiln_history_open(kiln_arena *a, const char *path,
                              const kiln_history_options *o, kiln_history **out,
                              kiln_err *err) {
    const char *file = kiln_sql_file(path);
    const bool is_there = file == NULL || kiln_file_exists(file);
    const kiln_sql_options sql = {
        .engine = o->engine,
        .read_only = is_there && file != NULL && access(file, W_OK) != 0,
        .busy_ms = o->busy_ms > 0 ? o->busy_ms : KILN_HISTORY_BUSY_MS,
        .what = "history of nights",
        .remedy = remedy,
        .is_single_file = true};
    kiln_history *h = kiln_new(a, kiln_history);
    if (!is_there && !o->may_make)
        return kiln_fail(err, KILN_ERR_MISSING,
                         "there is no history '%s'; kiln nightly makes one when its "
                         "first night ends",
                         path);
    if (!is_there)
        KILN_TRY(kiln_dir_make(kiln_path_dir(a, file), err));
    KILN_TRY(kiln_sql_open(a, path, &sql, &h->sql, err));
    const kiln_status st = kiln_history_migrate(h->sql, sql.read_only, err);
    if (st != KILN_OK) {
        kiln_sql_close(h->sql);
        return st;
    }
    *out = h;
    return KILN_OK;
}

void kiln_history_close(kiln_history *h) {
    if (h != NULL)
        kiln_sql_close(h->sql);
}

const char *kiln_history_path(const kiln_history *h) { return kiln_sql_path(h->sql); }

/* Commits where st is KILN_OK, else rolls back. */
static kiln_status end(kiln_history *h, kiln_status st, kiln_err *err) {
    if (st == KILN_OK)
        st = kiln_sql_commit(h->sql, err);
    if (st != KILN_OK)
        kiln_sql_rollback(h->sql);
    return st;
}

/* ---- appending ------------------------------------------------------------------- */

static kiln_status check_text(const char *what, const char *text, bool is_needed,
                              kiln_err *err) {
    if (text == NULL || text[0] == '\0')
        return is_needed ? kiln_fail(err, KILN_ERR_ARG, "a night needs its %s", what)
                         : KILN_OK;
    const size_t n = strlen(text);
    if (n > KILN_HISTORY_MAX_TEXT)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a night's %s has %zu bytes, the limit is %d", what, n,
                         KILN_HISTORY_MAX_TEXT);
    if (!kiln_utf8_valid((kiln_str){text, n}))
        return kiln_fail(err, KILN_ERR_ARG, "a night's %s must be UTF-8", what);
    return KILN_OK;
}

static kiln_status check_job(const kiln_night *n, size_t at, kiln_err *err) {
    const kiln_night_job *j = &n->job.v[at];
    KILN_TRY(check_text("model", j->model, true, err));
    KILN_TRY(check_text("profile", j->profile, true, err));
    KILN_TRY(check_text("archive", j->archive, false, err));
    KILN_TRY(check_text("accepted archive", j->accepted, false, err));
    KILN_TRY(check_text("frozen archive", j->frozen, false, err));
    for (size_t i = 0; i < at; i++) {
        const kiln_night_job *k = &n->job.v[i];
        if (k->threads == j->threads && strcmp(k->model, j->model) == 0 &&
            strcmp(k->profile, j->profile) == 0)
            return kiln_fail(err, KILN_ERR_ARG,
                             "a night has the job '%s', profile '%s', %d threads twice",
                             j->model, j->profile, j->threads);
    }
    return KILN_OK;
}

static kiln_status check_night(const kiln_night *n, kiln_err *err) {
    KILN_TRY(check_text("folder", n->folder, true, err));
    KILN_TRY(check_text("run", n->run, true, err));
    KILN_TRY(check_text("pipeline", n->pipeline, true, err));
    KILN_TRY(check_text("start", n->started, false, err));
    KILN_TRY(check_text("version of kiln", n->kiln, false, err));
    KILN_TRY(check_text("commit", n->commit, false, err));
    KILN_TRY(check_text("processor", n->cpu, false, err));
    KILN_TRY(check_text("operating system", n->os, false, err));
    for (size_t i = 0; i < n->job.n; i++)
        KILN_TRY(check_job(n, i, err));
    return KILN_OK;
}

static kiln_status put_night(kiln_history *h, const kiln_night *n, kiln_err *err) {
    kiln_query q = {0};
    KILN_TRY(kiln_query_open(
        h->sql,
        "INSERT INTO night (folder, run, pipeline, started, status, verdict, kiln,"
        " commit_id, cpu, os, cores, seconds, bytes)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        " ON CONFLICT (folder) DO UPDATE SET run = ?2, pipeline = ?3, started = ?4,"
        " status = ?5, verdict = ?6, kiln = ?7, commit_id = ?8, cpu = ?9, os = ?10,"
        " cores = ?11, seconds = ?12, bytes = ?13, is_pruned = 0",
        &q, err));
    const char *const text[] = {n->folder,  n->run,  n->pipeline, n->started, n->status,
                                n->verdict, n->kiln, n->commit,   n->cpu,     n->os};
    const int n_texts = (int)(sizeof text / sizeof text[0]);
    for (int i = 0; i < n_texts; i++)
        kiln_query_text(&q, i + 1, text[i]);
    kiln_query_i64(&q, n_texts + 1, n->cores);
    kiln_query_f64(&q, n_texts + 2, isfinite(n->seconds) ? n->seconds : 0);
    kiln_query_i64(&q, n_texts + 3, n->bytes);
    const kiln_status st = kiln_query_run(&q, err);
    kiln_query_close(&q);
    return st;
}

static kiln_status find_night(kiln_history *h, const char *folder, int64_t *seq,
                              kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st =
        kiln_query_open(h->sql, "SELECT seq FROM night WHERE folder = ?1", &q, err);
    if (st == KILN_OK) {
        kiln_query_text(&q, 1, folder);
        st = kiln_query_step(&q, &has_row, err);
    }
    *seq = st == KILN_OK && has_row ? kiln_query_get_i64(&q, 0) : 0;
    kiln_query_close(&q);
    return st;
}

/* NaN is NULL. */
static void bind_interval(kiln_query *q, int at, const kiln_stats_interval *v) {
    const bool is_known = v->estimate > 0 && v->low > 0 && isfinite(v->high);
    kiln_query_f64(q, at, is_known ? v->estimate : (double)NAN);
    kiln_query_f64(q, at + 1, is_known ? v->low : (double)NAN);
    kiln_query_f64(q, at + 2, is_known ? v->high : (double)NAN);
}

static kiln_status put_baselines(kiln_history *h, int64_t seq, int64_t place,
                                 const kiln_night_job *j, kiln_err *err) {
    kiln_query q = {0};
    static const char sql[] =
        "INSERT INTO baseline (seq, place, name, ratio, low, high)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        " ON CONFLICT (seq, place, name) DO UPDATE SET"
        "  ratio = excluded.ratio, low = excluded.low, high = excluded.high";
    kiln_status st = kiln_query_open(h->sql, sql, &q, err);
    for (size_t i = 0; i < j->baseline.n && st == KILN_OK; i++) {
        kiln_query_i64(&q, 1, seq);
        kiln_query_i64(&q, 2, place);
        kiln_query_text(&q, 3, j->baseline.v[i].name);
        bind_interval(&q, 4, &j->baseline.v[i].ratio);
        st = kiln_query_run(&q, err);
    }
    kiln_query_close(&q);
    return st;
}

static kiln_status put_jobs(kiln_history *h, int64_t seq, const kiln_night *n,
                            kiln_err *err) {
    kiln_query q = {0};
    kiln_status st = kiln_query_open(
        h->sql,
        "INSERT INTO job (seq, place, model, profile, threads, status, verdict,"
        " median_ms, ratio, low, high, archive, accepted, frozen, archive_bytes)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        &q, err);
    for (size_t i = 0; i < n->job.n && st == KILN_OK; i++) {
        const kiln_night_job *j = &n->job.v[i];
        kiln_query_i64(&q, 1, seq);
        kiln_query_i64(&q, 2, (int64_t)i);
        kiln_query_text(&q, 3, j->model);
        kiln_query_text(&q, 4, j->profile);
        kiln_query_i64(&q, 5, j->threads);
        kiln_query_text(&q, 6, j->status);
        kiln_query_text(&q, 7, j->verdict);
        kiln_query_f64(&q, 8, j->median_ms > 0 ? j->median_ms : 0);
        bind_interval(&q, 9, &j->ratio);
        kiln_query_text(&q, 12, j->archive);
        kiln_query_text(&q, 13, j->accepted);
        kiln_query_text(&q, 14, j->frozen);
        kiln_query_i64(&q, 15, j->archive_bytes);
        st = kiln_query_run(&q, err);
        if (st == KILN_OK)
            st = put_baselines(h, seq, (int64_t)i, j, err);
    }
    kiln_query_close(&q);
    return st;
}

static kiln_status remove_jobs(kiln_history *h, int64_t seq, kiln_err *err) {
    kiln_query q = {0};
    KILN_TRY(kiln_query_open(h->sql, "DELETE FROM job WHERE seq = ?1", &q, err));
    kiln_query_i64(&q, 1, seq);
    const kiln_status st = kiln_query_run(&q, err);
    kiln_query_close(&q);
    return st;
}

static kiln_status put_all(kiln_history *h, const kiln_night *n, kiln_err *err) {
    int64_t seq = 0;
    KILN_TRY(put_night(h, n, err));
    KILN_TRY(find_night(h, n->folder, &seq, err));
    KILN_ASSERT(seq > 0, "the night '%s' was put and is not there", n->folder);
    KILN_TRY(remove_jobs(h, seq, err));
    KILN_TRY(put_jobs(h, seq, n, err));
    return kiln_history_seal(h, seq, err);
}

kiln_status kiln_history_append(kiln_history *h, const kiln_night *n, kiln_err *err) {
    KILN_TRY(check_night(n, err));
    kiln_status st = kiln_sql_begin(h->sql, err);
    if (st == KILN_OK)
        st = end(h, put_all(h, n, err), err);
    if (st != KILN_OK)
        kiln_note(err, "appending the night '%s' to the history", n->run);
    return st;
}

/* ---- reading --------------------------------------------------------------------- */

static const char *text_or_null(kiln_query *q, int col, kiln_arena *a) {
    const char *text = kiln_query_get_text(q, col, a);
    return text[0] != '\0' ? text : NULL;
}

static kiln_stats_interval get_interval(kiln_query *q, int col) {
    const double v = kiln_query_get_f64(q, col);
    if (!(v > 0))
        return (kiln_stats_interval){(double)NAN, (double)NAN, (double)NAN};
    return (kiln_stats_interval){v, kiln_query_get_f64(q, col + 1),
                                 kiln_query_get_f64(q, col + 2)};
}

static kiln_night get_night(kiln_query *q, kiln_arena *a) {
    return (kiln_night){.seq = kiln_query_get_i64(q, 0),
                        .folder = kiln_query_get_text(q, 1, a),
                        .run = kiln_query_get_text(q, 2, a),
                        .pipeline = kiln_query_get_text(q, 3, a),
                        .started = text_or_null(q, 4, a),
                        .status = text_or_null(q, 5, a),
                        .verdict = text_or_null(q, 6, a),
                        .kiln = text_or_null(q, 7, a),
                        .commit = text_or_null(q, 8, a),
                        .cpu = text_or_null(q, 9, a),
                        .os = text_or_null(q, 10, a),
                        .cores = (int)kiln_query_get_i64(q, 11),
                        .seconds = kiln_query_get_f64(q, 12),
                        .bytes = kiln_query_get_i64(q, 13),
                        .is_pruned = kiln_query_get_i64(q, 14) != 0};
}

static kiln_night_job get_job(kiln_query *q, kiln_arena *a) {
    return (kiln_night_job){.model = kiln_query_get_text(q, 0, a),
                            .profile = kiln_query_get_text(q, 1, a),
                            .threads = (int)kiln_query_get_i64(q, 2),
                            .status = text_or_null(q, 3, a),
                            .verdict = text_or_null(q, 4, a),
                            .median_ms = kiln_query_get_f64(q, 5),
                            .ratio = get_interval(q, 6),
                            .archive = text_or_null(q, 9, a),
                            .accepted = text_or_null(q, 10, a),
                            .frozen = text_or_null(q, 11, a),
                            .archive_bytes = kiln_query_get_i64(q, 12)};
}

static kiln_status read_baselines(kiln_query *q, kiln_arena *a, int64_t seq,
                                  int64_t place, kiln_night_job *out, kiln_err *err) {
    bool has_row = false;
    kiln_status st = KILN_OK;
    kiln_query_i64(q, 1, seq);
    kiln_query_i64(q, 2, place);
    while ((st = kiln_query_step(q, &has_row, err)) == KILN_OK && has_row) {
        const kiln_night_baseline b = {kiln_query_get_text(q, 0, a),
                                       get_interval(q, 1)};
        kiln_vec_push(a, &out->baseline, b);
    }
    kiln_query_reset(q);
    return st;
}

static kiln_status read_jobs(kiln_history *h, kiln_arena *a, kiln_nights *out,
                             kiln_err *err) {
    kiln_query q = {0}, of_job = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(
        h->sql,
        "SELECT model, profile, threads, status, verdict, median_ms, ratio, low, high,"
        " archive, accepted, frozen, archive_bytes, place FROM job WHERE seq = ?1"
        " ORDER BY place LIMIT 4096",
        &q, err);
    if (st == KILN_OK)
        st =
            kiln_query_open(h->sql,
                            "SELECT name, ratio, low, high FROM baseline WHERE seq = ?1"
                            " AND place = ?2 ORDER BY name",
                            &of_job, err);
    for (size_t i = 0; i < out->n && st == KILN_OK; i++) {
        kiln_night *n = &out->v[i];
        kiln_query_i64(&q, 1, n->seq);
        while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
               has_row) {
            kiln_night_job j = get_job(&q, a);
            st =
                read_baselines(&of_job, a, n->seq, kiln_query_get_i64(&q, 13), &j, err);
            kiln_vec_push(a, &n->job, j);
        }
        kiln_query_reset(&q);
    }
    kiln_query_close(&of_job);
    kiln_query_close(&q);
    return st;
}

static kiln_status read_nights(kiln_history *h, kiln_arena *a, const char *pipeline,
                               int64_t seq, size_t most, kiln_nights *out,
                               kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(
        h->sql,
        "SELECT * FROM ("
        "  SELECT seq, folder, run, pipeline, started, status, verdict, kiln,"
        "    commit_id, cpu, os, cores, seconds, bytes, is_pruned"
        "  FROM night"
        "  WHERE (?1 IS NULL OR pipeline = ?1) AND (?3 = 0 OR seq = ?3)"
        "  ORDER BY seq DESC LIMIT ?2) AS newest"
        " ORDER BY seq",
        &q, err);
    if (st == KILN_OK) {
        kiln_query_text(&q, 1, pipeline);
        kiln_query_i64(&q, 2, (int64_t)most);
        kiln_query_i64(&q, 3, seq);
    }
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row) {
        const kiln_night n = get_night(&q, a);
        kiln_vec_push(a, out, n);
    }
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_history_read_some(kiln_history *h, kiln_arena *a, const char *pipeline,
                                   int64_t seq, size_t most, kiln_nights *out,
                                   kiln_err *err) {
    kiln_nights all = {.n = 0};
    KILN_TRY(read_nights(h, a, pipeline, seq, most, &all, err));
    KILN_TRY(read_jobs(h, a, &all, err));
    *out = all;
    return KILN_OK;
}

kiln_status kiln_history_read(kiln_history *h, kiln_arena *a, const char *pipeline,
                              size_t most, kiln_nights *out, kiln_err *err) {
    return kiln_history_read_some(h, a, pipeline, 0, most, out, err);
}

kiln_status kiln_history_pipelines(kiln_history *h, kiln_arena *a,
                                   kiln_history_names *out, kiln_err *err) {
    kiln_query q = {0};
    bool has_row = false;
    *out = (kiln_history_names){.n = 0};
    kiln_status st = kiln_query_open(
        h->sql, "SELECT pipeline FROM night GROUP BY pipeline ORDER BY min(seq)", &q,
        err);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row)
        kiln_vec_push(a, out, kiln_query_get_text(&q, 0, a));
    kiln_query_close(&q);
    return st;
}
