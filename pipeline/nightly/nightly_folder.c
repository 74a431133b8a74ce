/* The folder of a run: which one goes on, and the file that says what it is of. */
#include "pipeline/nightly/nightly_internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char schema[] = "kiln-run-1";
static const char file_name[] = "run.json";

/* What must be equal for a run to go on. */
static void identity_of(const kiln_nightly_config *c, char hex[KILN_SHA256_HEX]) {
    kiln_sha256 h;
    kiln_sha256_init(&h);
    kiln_sha256_add(&h, c->sha256, strlen(c->sha256));
    kiln_sha256_add(&h, c->is_frozen ? "frozen" : "open", c->is_frozen ? 6 : 4);
    if (c->no_ready)
        kiln_sha256_add(&h, "no ready", 8);
    kiln_sha256_add(&h, c->db, strlen(c->db) + 1);
    if (c->accepted != NULL)
        kiln_sha256_add(&h, c->accepted, strlen(c->accepted) + 1);
    for (size_t i = 0; i < c->only.n; i++)
        kiln_sha256_add(&h, c->only.v[i], strlen(c->only.v[i]) + 1);
    kiln_sha256_hex(&h, hex);
}

/* "2026-11-21T02-00-00", and more behind it where two runs began within a second. */
static bool is_run(const char *name) {
    static const char form[] = "0000-00-00T00-00-00";
    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == '0' ? name[i] < '0' || name[i] > '9' : name[i] != form[i])
            return false;
    return true;
}

static kiln_status write_it(const night *n, bool is_ended, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_buf text;
    kiln_json_writer w;
    char identity[KILN_SHA256_HEX];
    identity_of(n->c, identity);
    kiln_buf_init(&text, &scratch);
    kiln_json_writer_init(&w, &text);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "schema", schema);
    kiln_json_member_str(&w, "pipeline", n->c->name);
    kiln_json_member_str(&w, "identity", identity);
    kiln_json_member_str(&w, "started", n->started);
    kiln_json_member_bool(&w, "is_ended", is_ended);
    kiln_json_member_bool(&w, "is_part", n->c->only.n > 0);
    kiln_json_end_object(&w);
    kiln_buf_puts(&text, "\n");
    const kiln_status st = kiln_file_write(kiln_path_join(&scratch, n->run, file_name),
                                           text.p, text.n, err);
    kiln_arena_fini(&scratch);
    return st;
}

/* Behind all runs of this second: a name that was pruned, and is free again, is still
 * another night's in the history. 0: there was none. */
static int last_of_second(char *const *names, size_t n_names, const char *second) {
    const size_t length = strlen(second);
    int64_t last = 0, i = 0;
    for (size_t k = 0; k < n_names; k++) {
        const char *rest = names[k] + length;
        if (strncmp(names[k], second, length) != 0)
            continue;
        if (rest[0] == '\0')
            i = 1;
        else if (rest[0] != '-' || !kiln_parse_i64(kiln_str_from(rest + 1), &i))
            continue;
        last = i > last && i < INT_MAX ? i : last;
    }
    return (int)last;
}

static kiln_status begin(night *n, char *const *names, size_t n_names, kiln_err *err) {
    const time_t now = time(NULL);
    struct tm utc;
    char name[64], started[64];
    if (gmtime_r(&now, &utc) == NULL)
        return kiln_fail(err, KILN_ERR_IO, "the clock cannot be read");
    strftime(name, sizeof name, "%Y-%m-%dT%H-%M-%S", &utc);
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", &utc);
    const int last = last_of_second(names, n_names, name);
    n->name = last == 0 ? kiln_str_dup(n->arena, name)
                        : kiln_format(n->arena, "%s-%d", name, last + 1);
    n->run = kiln_path_join(n->arena, n->c->out, n->name);
    n->started = kiln_str_dup(n->arena, started);
    KILN_TRY(kiln_dir_make(n->run, err));
    return write_it(n, false, err);
}

/* Is it a run of this pipeline? *is_ended: nothing is left to do. */
static bool is_own(night *n, const char *identity, const char *name, bool *is_ended) {
    const char *run = kiln_path_join(n->arena, n->c->out, name);
    const char *path = kiln_path_join(n->arena, run, file_name);
    const kiln_json *root = NULL;
    if (!is_run(name) || !kiln_file_exists(path) ||
        kiln_json_read(n->arena, path, &root, NULL) != KILN_OK ||
        strcmp(kiln_json_string(kiln_json_get(root, "schema"), ""), schema) != 0 ||
        strcmp(kiln_json_string(kiln_json_get(root, "identity"), ""), identity) != 0)
        return false;
    *is_ended = kiln_json_bool(kiln_json_get(root, "is_ended"), true);
    n->name = kiln_str_dup(n->arena, name);
    n->run = run;
    n->started = kiln_json_string(kiln_json_get(root, "started"), "");
    return true;
}

/* Where "current" leads; NULL: nowhere that could be a run. */
static const char *current(const night *n) {
    char name[256];
    const char *link = kiln_path_join(n->arena, n->c->out, "current");
    const ssize_t len = readlink(link, name, sizeof name);
    if (len <= 0 || (size_t)len >= sizeof name ||
        memchr(name, '/', (size_t)len) != NULL)
        return NULL;
    return kiln_str_dupv(n->arena, (kiln_str){name, (size_t)len});
}

/* The last run of this pipeline, where it has not ended: the one that was at work last.
 * By its name alone only where the link does not say: a clock that was set back gives a
 * later run an earlier name. */
static bool find_unfinished(night *n, char *const *names, size_t n_names) {
    char identity[KILN_SHA256_HEX];
    const char *last = current(n);
    bool is_ended = true;
    identity_of(n->c, identity);
    if (last != NULL && is_own(n, identity, last, &is_ended))
        return !is_ended;
    for (size_t i = n_names; i-- > 0;) /* sorted: the last is the newest */
        if (is_own(n, identity, names[i], &is_ended))
            return !is_ended;
    return false;
}

/* A link in the folder of runs, replaced by rename, so that it always leads to a whole
 * folder: "current" to the run at work or, behind it, the last one that was, ended or
 * not; "latest" to the last one of a whole pipeline that ended. */
static kiln_status link_as(const night *n, const char *name, kiln_err *err) {
    const char *link = kiln_path_join(n->arena, n->c->out, name);
    const char *fresh = kiln_format(n->arena, "%s.%ld", link, (long)getpid());
    (void)unlink(fresh);
    if (symlink(n->name, fresh) == 0 && rename(fresh, link) == 0)
        return KILN_OK;
    const int why = errno;
    (void)unlink(fresh);
    return kiln_fail(err, KILN_ERR_IO, "cannot make the link '%s': %s", link,
                     strerror(why));
}

kiln_status kiln_nightly_run_open(night *n, kiln_err *err) {
    char **names = NULL;
    size_t n_names = 0;
    KILN_TRY(kiln_dir_list(n->arena, n->c->out, &names, &n_names, err));
    n->goes_on = !n->o->is_new && find_unfinished(n, names, n_names);
    if (!n->goes_on)
        KILN_TRY(begin(n, names, n_names, err));
    return link_as(n, "current", err);
}

kiln_status kiln_nightly_run_end(night *n, kiln_err *err) {
    if (n->c->only.n == 0)
        KILN_TRY(link_as(n, "latest", err));
    return write_it(n, true, err);
}
