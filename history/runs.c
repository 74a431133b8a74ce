/* Folders of runs: which there are, how large, and which may go. */
#include "history/history_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 64, MAX_LINK = 4096 };
static const char run_schema[] =
    "kiln-run-1"; /* of pipeline/nightly/nightly_folder.c */

/* ---- sizes ----------------------------------------------------------------------- */

static kiln_status bytes_of(kiln_arena *scratch, const char *path, int depth,
                            int64_t *out, kiln_err *err) {
    struct stat s;
    if (lstat(path, &s) != 0) {
        if (errno == ENOENT) /* somebody tidies up */
            return KILN_OK;
        return kiln_fail(err, KILN_ERR_IO, "cannot look at '%s': %s", path,
                         strerror(errno));
    }
    if (S_ISREG(s.st_mode))
        *out += (int64_t)s.st_size;
    if (!S_ISDIR(s.st_mode))
        return KILN_OK;
    if (depth >= MAX_DEPTH)
        return kiln_fail(err, KILN_ERR_LIMIT, "'%s' is more than %d folders deep", path,
                         MAX_DEPTH);
    char **name = NULL;
    size_t n = 0;
    KILN_TRY(kiln_dir_list(scratch, path, &name, &n, err));
    for (size_t i = 0; i < n; i++)
        KILN_TRY(bytes_of(scratch, kiln_path_join(scratch, path, name[i]), depth + 1,
                          out, err));
    return KILN_OK;
}

kiln_status kiln_history_bytes(const char *folder, int64_t *out, kiln_err *err) {
    KILN_ASSERT(folder != NULL, "the bytes of no folder");
    kiln_arena scratch = {0};
    int64_t bytes = 0;
    const kiln_status st = bytes_of(&scratch, folder, 0, &bytes, err);
    kiln_arena_fini(&scratch);
    if (st == KILN_OK)
        *out = bytes;
    return st;
}

/* ---- runs ------------------------------------------------------------------------ */

/* Where the link leads, as it says; NULL: there is none. */
static const char *latest_of(kiln_arena *a, const char *out) {
    char *text = kiln_arena_array(a, MAX_LINK + 1, 1);
    const ssize_t n = readlink(kiln_path_join(a, out, "latest"), text, MAX_LINK);
    if (n <= 0)
        return NULL;
    text[n] = '\0';
    return kiln_path_base(text);
}

/* False: it is no run of kiln nightly. */
static bool read_run(kiln_arena *a, const char *folder, kiln_history_run *out) {
    const char *path = kiln_path_join(a, folder, "run.json");
    const kiln_json *root = NULL;
    if (!kiln_file_exists(path) || kiln_json_read(a, path, &root, NULL) != KILN_OK ||
        strcmp(kiln_json_string(kiln_json_get(root, "schema"), ""), run_schema) != 0)
        return false;
    out->pipeline = kiln_json_string(kiln_json_get(root, "pipeline"), "");
    out->is_ended = kiln_json_bool(kiln_json_get(root, "is_ended"), false);
    out->is_part = kiln_json_bool(kiln_json_get(root, "is_part"), false);
    return true;
}

bool kiln_history_is_part(kiln_arena *a, const char *folder) {
    kiln_history_run r = {.name = NULL};
    return read_run(a, folder, &r) && r.is_part;
}

kiln_status kiln_history_find_runs(kiln_arena *a, const char *out,
                                   kiln_history_runs *runs, kiln_err *err) {
    const char *root = NULL;
    char **name = NULL;
    size_t n = 0;
    *runs = (kiln_history_runs){.n = 0};
    KILN_TRY(kiln_path_real(a, out, &root, err));
    KILN_TRY(kiln_dir_list(a, root, &name, &n, err));
    const char *latest = latest_of(a, root);
    for (size_t i = 0; i < n; i++) {
        kiln_history_run r = {.name = name[i],
                              .folder = kiln_path_join(a, root, name[i])};
        struct stat s;
        if (lstat(r.folder, &s) != 0 || !S_ISDIR(s.st_mode) ||
            !read_run(a, r.folder, &r))
            continue;
        r.is_latest = latest != NULL && strcmp(latest, name[i]) == 0;
        KILN_TRY(kiln_history_bytes(r.folder, &r.bytes, err));
        kiln_vec_push(a, runs, r);
    }
    return KILN_OK;
}

/* ---- pruning --------------------------------------------------------------------- */

/* A run with what the history knows of it. */
typedef struct candidate {
    kiln_history_run run;
    int64_t seq; /* 0: it does not know it */
    bool is_needed;
} candidate;
typedef KILN_VEC(candidate) candidates;

static bool builds_needed(const kiln_night *n, const kiln_history_keep *keep) {
    for (size_t i = 0; i < n->job.n; i++)
        for (size_t k = 0; k < keep->n_needed; k++)
            if (n->job.v[i].archive != NULL &&
                strcmp(n->job.v[i].archive, keep->needed[k]) == 0)
                return true;
    return false;
}

/* Parts of pipelines first, then the oldest; what the history does not know stands at
 * the end, as the newest do. */
static int by_age(const void *x, const void *y) {
    const candidate *a = x, *b = y;
    if (a->run.is_part != b->run.is_part)
        return a->run.is_part ? -1 : 1;
    if ((a->seq == 0) != (b->seq == 0))
        return a->seq == 0 ? 1 : -1;
    return a->seq != b->seq ? (a->seq > b->seq) - (a->seq < b->seq)
                            : strcmp(a->run.name, b->run.name);
}

static kiln_status find_candidates(kiln_history *h, kiln_arena *a, const char *out,
                                   const kiln_history_keep *keep, candidates *list,
                                   kiln_err *err) {
    kiln_history_runs runs;
    kiln_nights nights;
    KILN_TRY(kiln_history_find_runs(a, out, &runs, err));
    KILN_TRY(kiln_history_read(h, a, NULL, SIZE_MAX / 2, &nights, err));
    for (size_t i = 0; i < runs.n; i++) {
        candidate c = {.run = runs.v[i]};
        for (size_t k = 0; k < nights.n; k++)
            if (strcmp(nights.v[k].folder, c.run.folder) == 0) {
                c.seq = nights.v[k].seq;
                c.is_needed = builds_needed(&nights.v[k], keep);
            }
        kiln_vec_push(a, list, c);
    }
    if (list->n > 0)
        qsort(list->v, list->n, sizeof *list->v, by_age);
    return KILN_OK;
}

static const char *why_it_stays(const candidate *c) {
    return c->run.is_latest   ? "it is the latest"
           : !c->run.is_ended ? "it has not ended: kiln nightly goes on with it"
           : c->seq == 0 && !c->run.is_part
               ? "the history does not know it: 'kiln history add' it first"
           : c->is_needed ? "it built an archive that is accepted or frozen"
                          : NULL;
}

/* First from the history, then from the disk: a kill between them leaves a folder that
 * the next pruning finds. */
static kiln_status remove_run(kiln_history *h, const candidate *c, kiln_err *err) {
    if (c->seq != 0)
        KILN_TRY(kiln_history_set_pruned(h, c->run.folder, err));
    return kiln_remove_tree(c->run.folder, err);
}

static bool is_over(const kiln_history_keep *keep, const kiln_history_pruning *p) {
    return (keep->nights > 0 && p->n_left > keep->nights) ||
           (keep->gb > 0 && (double)p->bytes_left > keep->gb * 1e9);
}

kiln_status kiln_history_prune(kiln_history *h, kiln_arena *a, const char *out,
                               const kiln_history_keep *keep,
                               kiln_history_pruning *pruning, kiln_err *err) {
    kiln_history_pruning p = {.n_gone = 0};
    candidates list = {.n = 0};
    KILN_TRY(find_candidates(h, a, out, keep, &list, err));
    for (size_t i = 0; i < list.n; i++)
        p.bytes_left += list.v[i].run.bytes;
    p.n_left = (int64_t)list.n;
    for (size_t i = 0; i < list.n && is_over(keep, &p); i++) {
        const candidate *c = &list.v[i];
        kiln_history_pruned row = {.run = c->run.name,
                                   .folder = c->run.folder,
                                   .bytes = c->run.bytes,
                                   .reason = why_it_stays(c)};
        row.is_gone = row.reason == NULL;
        if (row.is_gone) {
            if (!keep->is_dry)
                KILN_TRY(remove_run(h, c, err));
            p.n_gone++;
            p.n_left--;
            p.bytes_gone += row.bytes;
            p.bytes_left -= row.bytes;
        }
        kiln_vec_push(a, &p.run, row);
    }
    *pruning = p;
    return KILN_OK;
}

void kiln_history_pruning_text(kiln_buf *out, const kiln_history_pruning *p,
                               bool is_dry) {
    static const double mb = 1e-6;
    for (size_t i = 0; i < p->run.n; i++) {
        const kiln_history_pruned *r = &p->run.v[i];
        kiln_buf_printf(out, "%s %s, %.1f MB%s%s\n",
                        !r->is_gone ? "kept"
                        : is_dry    ? "would remove"
                                    : "removed",
                        r->run, (double)r->bytes * mb, r->reason != NULL ? ": " : "",
                        r->reason != NULL ? r->reason : "");
    }
    kiln_buf_printf(out, "%lld run%s %s, %.1f MB freed; %lld left, %.1f MB\n",
                    (long long)p->n_gone, kiln_plural(p->n_gone),
                    is_dry ? "would be removed" : "removed", (double)p->bytes_gone * mb,
                    (long long)p->n_left, (double)p->bytes_left * mb);
}
