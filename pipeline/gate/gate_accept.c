/* Archives become the accepted ones: verified, copied under the name of their contents,
 * and then, all at once, named in accepted.json. Whoever reads the folder meanwhile
 * finds what was accepted before, whole. */
#include "pipeline/gate/gate_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_HISTORY = 1000, NAME_DIGITS = 12 };

const char *kiln_accept_judge_name(kiln_accept_judge j) {
    KILN_ASSERT((int)j >= 0 && j < KILN_N_JUDGES, "nobody is judge %d", (int)j);
    static const char *const name[KILN_N_JUDGES] = {
        [KILN_JUDGED_UNCHANGED] = "unchanged",
        [KILN_JUDGED_REFERENCE] = "reference",
        [KILN_JUDGED_ACCEPTED] = "accepted",
        [KILN_JUDGED_NIGHTLY] = "nightly",
        [KILN_JUDGED_NOBODY] = "nobody"};
    return name[j];
}

typedef struct acceptance {
    kiln_arena *arena;
    const kiln_accept_options *o;
    const char *when, *who, *machine;
    kiln_accepted_list list;
    kiln_accept_rows rows;
    size_t n_replaced; /* entries that begin the history: of this acceptance */
} acceptance;

/* ---- verification ---------------------------------------------------------------- */

static kiln_status unpack_apart(const acceptance *c, kiln_arena *a, const char *path,
                                kiln_err *err) {
    const kiln_unpack_options o = {.keys = c->o->keys, .is_for_now = true};
    const char *dir = NULL;
    KILN_TRY(kiln_dir_temp(a, &dir, err));
    return kiln_package_unpack_by(a, path, kiln_path_join(a, dir, "package"), &o, NULL,
                                  err);
}

/* Nobody here can run it: then its integrity is all that can be verified. (Of a variant
 * that nobody can run, with others that somebody can, the checks say so.) */
static kiln_status verify_whole(const acceptance *c, kiln_arena *scratch,
                                kiln_accept_row *row, kiln_err *err) {
    row->not_tested = kiln_gate_sentence(c->arena, err);
    kiln_err_clear(err);
    return unpack_apart(c, scratch, row->path, err);
}

static kiln_status verify(const acceptance *c, kiln_arena *scratch,
                          kiln_accept_row *row, kiln_err *err) {
    const kiln_verify_options o = {.threads = &row->entry.threads,
                                   .n_threads = 1,
                                   .keys = c->o->keys,
                                   .where = c->o->where};
    kiln_checks checks = {.n_failed = 0};
    const kiln_status st = kiln_verify_package(scratch, row->path, &o, &checks, err);
    if (st == KILN_ERR_UNSUPPORTED && c->o->where == NULL)
        return verify_whole(c, scratch, row, err);
    for (size_t i = 0; i < checks.list.n && st == KILN_OK; i++) {
        const kiln_check *k = &checks.list.v[i];
        if (k->outcome == KILN_UNSUPPORTED && c->o->where == NULL)
            row->not_tested = kiln_format(c->arena, "%s: %s", k->name, k->reason);
        else if (k->outcome != KILN_PASSED)
            return kiln_fail(err, KILN_ERR_PARSE, "'%s' is not accepted: %s: %s",
                             row->path, k->name, k->reason);
    }
    return st;
}

static kiln_status was_changed(const char *path, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_IO, "'%s' was changed while it was verified", path);
}

/* What it would replace, opened; false: there is nothing that can be compared with it.
 */
static bool open_control(const acceptance *c, kiln_arena *scratch,
                         const kiln_opened *candidate, const kiln_accepted *now,
                         kiln_opened *out) {
    const char *path = kiln_path_join(scratch, c->o->to, now->file), *sha256 = NULL;
    int64_t bytes = 0;
    return kiln_file_exists(path) &&
           kiln_gate_hash(scratch, path, &sha256, &bytes, NULL) == KILN_OK &&
           strcmp(sha256, now->sha256) == 0 &&
           kiln_package_open_on(scratch, path, c->o->keys, c->o->where, out, NULL) ==
               KILN_OK &&
           (candidate->n_variants > 0 || out->n_variants > 0 ||
            kiln_opened_is_comparable(candidate, out));
}

/* Each variant beside the one for the same: it is judged if all of them are. */
static kiln_status ask_variants(kiln_arena *scratch, kiln_opened *candidate,
                                kiln_opened *control, kiln_accept_row *row,
                                bool *is_judged, kiln_err *err) {
    const size_t n = candidate->n_variants > 0 ? candidate->n_variants : 1;
    for (size_t i = 0; i < n; i++) {
        bool found = false, is_wrong = false;
        if (candidate->n_variants > 0)
            KILN_TRY(kiln_opened_choose(scratch, candidate, i, err));
        KILN_TRY(
            kiln_opened_choose_like(scratch, control, &candidate->facts, &found, err));
        if (!found || !kiln_opened_is_comparable(candidate, control))
            return KILN_OK;
        KILN_TRY(kiln_gate_ask_accepted(candidate, control, row->entry.threads, 0,
                                        &is_wrong, err));
    }
    row->judge = KILN_JUDGED_ACCEPTED;
    *is_judged = true;
    return KILN_OK;
}

/* Compares with what it would replace, where that can be. */
static kiln_status ask_accepted(const acceptance *c, kiln_arena *scratch,
                                const kiln_accepted *now, kiln_accept_row *row,
                                bool *is_judged, kiln_err *err) {
    kiln_opened candidate, control;
    if (row->not_tested != NULL)
        return KILN_OK;
    KILN_TRY(kiln_package_open_on(scratch, row->path, c->o->keys, c->o->where,
                                  &candidate, err));
    if (!open_control(c, scratch, &candidate, now, &control))
        return KILN_OK;
    if (candidate.n_variants > 0 || control.n_variants > 0)
        return ask_variants(scratch, &candidate, &control, row, is_judged, err);
    bool is_wrong = false;
    KILN_TRY(kiln_gate_ask_accepted(&candidate, &control, row->entry.threads, 0,
                                    &is_wrong, err));
    row->judge = KILN_JUDGED_ACCEPTED;
    *is_judged = true;
    return KILN_OK;
}

static kiln_status ask_others(const acceptance *c, kiln_arena *scratch,
                              const kiln_package_facts *f, kiln_accept_row *row,
                              kiln_err *err) {
    const kiln_accepted *now = kiln_accepted_find(&c->list, f);
    const char *model = NULL;
    bool is_judged = false, is_wrong = false;
    if (now != NULL && strcmp(now->sha256, row->entry.sha256) == 0) {
        row->judge = KILN_JUDGED_UNCHANGED;
        return KILN_OK;
    }
    KILN_TRY(kiln_gate_find_model(scratch, &c->o->models, f, &model, err));
    if (model != NULL && row->not_tested == NULL) {
        row->judge = KILN_JUDGED_REFERENCE;
        return kiln_gate_ask_model(row->path, c->o->keys, c->o->where, model,
                                   row->entry.threads, &is_wrong, err);
    }
    if (now != NULL)
        KILN_TRY(ask_accepted(c, scratch, now, row, &is_judged, err));
    if (is_judged)
        return KILN_OK;
    row->judge = KILN_JUDGED_NIGHTLY;
    if (c->o->nights != NULL &&
        c->o->nights->has_verified(scratch, row->path, row->entry.sha256))
        return KILN_OK;
    row->judge = KILN_JUDGED_NOBODY;
    if (c->o->is_trusting)
        return KILN_OK;
    return kiln_fail(
        err, KILN_ERR_ARG,
        "nobody but '%s' itself says that it is right: give the model that "
        "it was built from, by --model, or say --trust",
        row->path);
}

/* Somebody other than the archive must call it right. */
static kiln_status judge(const acceptance *c, kiln_arena *scratch,
                         const kiln_package_facts *f, kiln_accept_row *row,
                         kiln_err *err) {
    const kiln_status st = ask_others(c, scratch, f, row, err);
    if (st == KILN_ERR_SHAPE) {
        const char *why = kiln_gate_sentence(c->arena, err);
        kiln_err_clear(err);
        return kiln_fail(err, KILN_ERR_PARSE, "'%s' is not accepted: %s", row->path,
                         why);
    }
    return st;
}

/* Any of its variants. */
static bool is_unproved(const kiln_package_facts *f) {
    bool any = f->is_unproved;
    for (size_t i = 0; i < f->n_variants; i++)
        any = any || f->variant[i].facts->is_unproved;
    return any;
}

static kiln_status read_row(acceptance *c, const char *path, kiln_accept_row *row,
                            kiln_err *err) {
    kiln_arena *a = c->arena;
    kiln_package_facts f;
    char sha256[KILN_SHA256_HEX];
    *row = (kiln_accept_row){.path = path};
    if (kiln_dir_exists(path))
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' is an unpacked package; accept its archive", path);
    if (c->o->nights != NULL && c->o->nights->is_injected(a, path))
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' is of a run with --inject, whose verdicts are a test of "
                         "the alarm: accept one of an ordinary run",
                         path);
    KILN_TRY(kiln_package_inspect_by(a, path, c->o->keys, &f, sha256, err));
    if (is_unproved(&f))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' is not accepted: it was packed by --no-verify; build it "
                         "without, where it can run",
                         path);
    row->entry = (kiln_accepted){.model = f.model,
                                 .profile = f.profile.name,
                                 .threads = f.threads,
                                 .version = f.version,
                                 .when = c->when,
                                 .who = c->who,
                                 .kiln = f.kiln_version,
                                 .commit = f.kiln_commit,
                                 .machine = c->machine};
    KILN_TRY(kiln_gate_hash(a, path, &row->entry.sha256, &row->entry.bytes, err));
    if (strcmp(row->entry.sha256, sha256) != 0)
        return was_changed(path, err);
    const char *name = kiln_package_file_name(a, &f);
    const size_t n = strlen(name) - strlen(KILN_ARCHIVE_ENDING);
    row->entry.file = kiln_format(a, "%.*s-%.*s" KILN_ARCHIVE_ENDING, (int)n, name,
                                  NAME_DIGITS, row->entry.sha256);
    kiln_arena scratch = {0};
    kiln_status st = verify(c, &scratch, row, err);
    if (st == KILN_OK)
        st = judge(c, &scratch, &f, row, err);
    kiln_arena_fini(&scratch);
    return st;
}

/* Two archives for one place are a question that only the caller can answer; the same
 * bytes twice are none. */
static kiln_status add_row(acceptance *c, const kiln_accept_row *row, kiln_err *err) {
    for (size_t i = 0; i < c->rows.n; i++) {
        const kiln_accept_row *other = &c->rows.v[i];
        if (kiln_accepted_order(&other->entry, &row->entry) != 0)
            continue;
        if (strcmp(other->entry.sha256, row->entry.sha256) == 0)
            return KILN_OK;
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' and '%s' are both '%s' for profile '%s' at %d threads; "
                         "accept one of them",
                         other->path, row->path, row->entry.model, row->entry.profile,
                         row->entry.threads);
    }
    kiln_vec_push(c->arena, &c->rows, *row);
    return KILN_OK;
}

/* ---- the folder ------------------------------------------------------------------ */

static kiln_accepted *find_now(acceptance *c, const kiln_accepted *e) {
    for (size_t i = 0; i < c->list.now.n; i++)
        if (kiln_accepted_order(&c->list.now.v[i], e) == 0)
            return &c->list.now.v[i];
    return NULL;
}

static void mark_replaced(acceptance *c) {
    for (size_t i = 0; i < c->rows.n; i++) {
        kiln_accept_row *row = &c->rows.v[i];
        const kiln_accepted *now = find_now(c, &row->entry);
        row->replaces = now != NULL ? now->sha256 : NULL;
        row->is_unchanged =
            now != NULL && strcmp(now->sha256, row->entry.sha256) == 0 &&
            kiln_file_exists(kiln_path_join(c->arena, c->o->to, now->file));
    }
}

/* What is copied must be what was verified. */
static kiln_status copy(const acceptance *c, const kiln_accept_row *row,
                        kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str file;
    char sha256[KILN_SHA256_HEX] = "";
    const char *to = kiln_path_join(c->arena, c->o->to, row->entry.file);
    kiln_status st = kiln_file_map(&scratch, row->path, 0, &file, err);
    if (st == KILN_OK)
        kiln_sha256_of(file.p, file.n, sha256);
    if (st == KILN_OK && strcmp(sha256, row->entry.sha256) != 0)
        st = was_changed(row->path, err);
    if (st == KILN_OK)
        st = kiln_file_write(to, file.p, file.n, err);
    kiln_arena_fini(&scratch);
    return st;
}

static const char *const companion[] = {KILN_SIGNATURE_ENDING, KILN_PROVENANCE_ENDING};
enum {
    N_COMPANIONS = sizeof companion / sizeof companion[0],
    MAX_COMPANION = 64 << 20 /* bytes */
};

/* Does the copy pass where its keys are required? */
static kiln_status check_copy(const acceptance *c, kiln_arena *scratch, const char *to,
                              kiln_err *err) {
    kiln_signed says;
    kiln_str file;
    KILN_TRY(kiln_file_map(scratch, to, 0, &file, err));
    return kiln_archive_check(scratch, c->o->keys, to, file, &says, err);
}

/* What lies beside the archive, under the name that it has in the folder. */
static kiln_status copy_companions(const acceptance *c, const kiln_accept_row *row,
                                   kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_status st = KILN_OK;
    const char *to = kiln_path_join(c->arena, c->o->to, row->entry.file);
    for (int i = 0; i < N_COMPANIONS && st == KILN_OK; i++) {
        const char *from = kiln_format(&scratch, "%s%s", row->path, companion[i]);
        kiln_str file;
        if (!kiln_file_exists(from))
            continue;
        st = kiln_file_map(&scratch, from, MAX_COMPANION, &file, err);
        if (st == KILN_OK)
            st = kiln_file_write(kiln_format(&scratch, "%s%s", to, companion[i]),
                                 file.p, file.n, err);
    }
    if (st == KILN_OK && c->o->keys != NULL)
        st = check_copy(c, &scratch, to, err);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status remove_archive(const acceptance *c, const char *file,
                                  kiln_err *err) {
    const char *path = kiln_path_join(c->arena, c->o->to, file);
    for (int i = 0; i < N_COMPANIONS; i++)
        KILN_TRY(
            kiln_remove_tree(kiln_format(c->arena, "%s%s", path, companion[i]), err));
    return kiln_remove_tree(path, err);
}

static int in_order(const void *x, const void *y) { return kiln_accepted_order(x, y); }

/* Newest first: behind what goes into it now comes what was in it before. */
static void keep_history(acceptance *c, kiln_accepted_list *l) {
    for (size_t i = 0; i < c->list.history.n && l->history.n < MAX_HISTORY; i++)
        kiln_vec_push(c->arena, &l->history, c->list.history.v[i]);
}

/* The list with the rows in it: what they replace becomes history. */
static void replace(acceptance *c) {
    kiln_accepted_list l = {.folder = c->list.folder};
    kiln_accepted_freeze_new(c->arena, &c->list); /* of lists that had none yet */
    for (size_t i = 0; i < c->rows.n; i++) {
        const kiln_accept_row *row = &c->rows.v[i];
        kiln_accepted *now = find_now(c, &row->entry);
        if (row->is_unchanged)
            continue;
        if (now == NULL) {
            kiln_vec_push(c->arena, &c->list.now, row->entry);
            continue;
        }
        now->replaced = c->when;
        kiln_vec_push(c->arena, &l.history, *now);
        *now = row->entry;
    }
    c->n_replaced = l.history.n;
    keep_history(c, &l);
    l.now.v = c->list.now.v;
    l.now.n = c->list.now.n;
    l.frozen.v = c->list.frozen.v;
    l.frozen.n = c->list.frozen.n;
    l.frozen.cap = c->list.frozen.cap;
    kiln_accepted_freeze_new(c->arena, &l);
    if (l.now.n > 0)
        qsort(l.now.v, l.now.n, sizeof *l.now.v, in_order);
    if (l.frozen.n > 0)
        qsort(l.frozen.v, l.frozen.n, sizeof *l.frozen.v, in_order);
    c->list = l;
}

static bool is_named(const acceptance *c, const char *file) {
    for (size_t i = 0; i < c->list.now.n; i++)
        if (strcmp(c->list.now.v[i].file, file) == 0)
            return true;
    for (size_t i = 0; i < c->list.frozen.n; i++)
        if (strcmp(c->list.frozen.v[i].file, file) == 0)
            return true;
    return false;
}

static bool is_just_replaced(const acceptance *c, const char *file) {
    for (size_t i = 0; i < c->n_replaced; i++)
        if (strcmp(c->list.history.v[i].file, file) == 0)
            return true;
    return false;
}

/* What this acceptance replaced stays until the next one: a gate that has just read the
 * list is about to open it. No other file of the folder is touched: it may be
 * somebody's. */
static kiln_status remove_replaced(const acceptance *c, kiln_err *err) {
    for (size_t i = c->n_replaced; i < c->list.history.n; i++) {
        const char *file = c->list.history.v[i].file;
        if (!is_named(c, file) && !is_just_replaced(c, file))
            KILN_TRY(remove_archive(c, file, err));
    }
    return KILN_OK;
}

static kiln_status write_list(const acceptance *c, kiln_err *err) {
    kiln_buf json;
    kiln_buf_init(&json, c->arena);
    kiln_accepted_json(&json, &c->list);
    return kiln_file_write(kiln_path_join(c->arena, c->o->to, KILN_ACCEPTED_FILE),
                           json.p, json.n, err);
}

/* All files, then the list that names them. Where one cannot be written (a full disk),
 * the archives that this brought go again: nothing names them, nobody would. */
static kiln_status write_folder(acceptance *c, kiln_err *err) {
    kiln_status st = KILN_OK;
    size_t n = 0; /* rows begun */
    bool *is_new = kiln_array(c->arena, bool, c->rows.n);
    for (; n < c->rows.n && st == KILN_OK; n++) {
        const kiln_accept_row *row = &c->rows.v[n];
        is_new[n] =
            !kiln_file_exists(kiln_path_join(c->arena, c->o->to, row->entry.file));
        if (!row->is_unchanged)
            st = copy(c, row, err);
        if (st == KILN_OK)
            st = copy_companions(c, row, err);
    }
    if (st == KILN_OK) {
        replace(c);
        st = write_list(c, err);
    }
    for (size_t i = 0; i < n && st != KILN_OK; i++)
        if (is_new[i])
            (void)remove_archive(c, c->rows.v[i].entry.file, NULL);
    return st == KILN_OK ? remove_replaced(c, err) : st;
}

/* One at a time: two would each write a list without the other's. */
static kiln_status lock_folder(const acceptance *c, int *fd, kiln_err *err) {
    const char *path = kiln_path_join(c->arena, c->o->to, ".lock");
    long holder = 0;
    KILN_TRY(kiln_dir_make(c->o->to, err));
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (*fd < 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot open '%s': %s", path,
                         strerror(errno));
    kiln_status st = kiln_file_lock(*fd, path, &holder, err);
    if (st == KILN_OK && holder != 0)
        st = kiln_fail(err, KILN_ERR_IO,
                       "another 'kiln accept' is at work in '%s'; try again when it "
                       "has ended",
                       c->o->to);
    if (st != KILN_OK) {
        close(*fd);
        *fd = -1;
    }
    return st;
}

static kiln_status put_into_folder(acceptance *c, kiln_err *err) {
    int fd = -1;
    if (!c->o->is_dry)
        KILN_TRY(lock_folder(c, &fd, err));
    kiln_status st = kiln_accepted_read(c->arena, c->o->to, &c->list, err);
    if (st == KILN_OK)
        mark_replaced(c);
    if (st == KILN_OK && !c->o->is_dry)
        st = write_folder(c, err);
    if (fd >= 0)
        close(fd); /* and so the lock is released */
    return st;
}

/* ---- all ------------------------------------------------------------------------- */

static const char *now_utc(kiln_arena *a) {
    enum { TEXT = 32 };
    char text[TEXT] = "";
    struct tm t;
    const time_t now = time(NULL);
    if (gmtime_r(&now, &t) != NULL)
        (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
    return kiln_str_dup(a, text);
}

static const char *user_name(void) {
    const char *name = getenv("USER");
    if (name == NULL || name[0] == '\0')
        name = getenv("LOGNAME");
    return name != NULL && name[0] != '\0' ? name : NULL;
}

kiln_status kiln_accept(kiln_arena *a, const char *const *path, size_t n,
                        const kiln_accept_options *o, kiln_accept_rows *out,
                        kiln_err *err) {
    acceptance c = {.arena = a,
                    .o = o,
                    .when = now_utc(a),
                    .who = o->who != NULL ? o->who : user_name()};
    kiln_gate_paths paths;
    KILN_TRY(kiln_gate_machine(a, o->where, &c.machine, err));
    KILN_TRY(kiln_gate_find_archives(a, path, n, &paths, err));
    KILN_TRY(kiln_accepted_read(a, o->to, &c.list, err)); /* to compare with */
    for (size_t i = 0; i < paths.n; i++) {
        kiln_accept_row row;
        KILN_TRY(kiln_interrupt_check(err));
        KILN_TRY(read_row(&c, paths.v[i], &row, err));
        KILN_TRY(add_row(&c, &row, err));
    }
    KILN_TRY(put_into_folder(&c, err));
    *out = c.rows;
    return KILN_OK;
}

/* ---- freezing -------------------------------------------------------------------- */

static bool is_asked(const char *model, const char *const *name, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(name[i], model) == 0)
            return true;
    return n == 0;
}

/* A row for each place whose frozen archive becomes another. */
static void freeze_rows(acceptance *c, const char *const *model, size_t n) {
    kiln_accepted_freeze_new(c->arena, &c->list);
    kiln_accepted_list l = c->list;
    l.history.v = NULL;
    l.history.n = l.history.cap = 0;
    for (size_t i = 0; i < c->list.now.n; i++)
        for (size_t k = 0; k < c->list.frozen.n; k++) {
            const kiln_accepted *now = &c->list.now.v[i];
            kiln_accepted *frozen = &c->list.frozen.v[k];
            if (kiln_accepted_order(now, frozen) != 0 ||
                strcmp(now->sha256, frozen->sha256) == 0 ||
                !is_asked(now->model, model, n))
                continue;
            const kiln_accept_row row = {
                .path = now->file, .entry = *now, .replaces = frozen->sha256};
            kiln_accepted gone = *frozen;
            gone.replaced = c->when;
            kiln_vec_push(c->arena, &c->rows, row);
            kiln_vec_push(c->arena, &l.history, gone); /* its file goes, later */
            *frozen = *now;
        }
    keep_history(c, &l);
    c->list = l;
}

static kiln_status check_names(const acceptance *c, const char *const *model, size_t n,
                               kiln_err *err) {
    for (size_t i = 0; i < n; i++) {
        bool is_there = false;
        for (size_t k = 0; k < c->list.now.n; k++)
            is_there |= strcmp(c->list.now.v[k].model, model[i]) == 0;
        if (!is_there)
            return kiln_fail(err, KILN_ERR_ARG, "nothing is accepted in '%s' for '%s'",
                             c->o->to,
                             kiln_str_printable(c->arena, kiln_str_from(model[i]), 64));
    }
    return KILN_OK;
}

static kiln_status freeze(acceptance *c, const char *const *model, size_t n,
                          kiln_err *err) {
    KILN_TRY(kiln_accepted_read(c->arena, c->o->to, &c->list, err));
    KILN_TRY(check_names(c, model, n, err));
    freeze_rows(c, model, n);
    return write_list(c, err);
}

kiln_status kiln_freeze(kiln_arena *a, const char *folder, const char *const *model,
                        size_t n, kiln_accept_rows *out, kiln_err *err) {
    const kiln_accept_options o = {.to = folder};
    acceptance c = {.arena = a, .o = &o, .when = now_utc(a)};
    int fd = -1;
    if (!kiln_file_exists(kiln_path_join(a, folder, KILN_ACCEPTED_FILE)))
        return kiln_fail(
            err, KILN_ERR_MISSING,
            "nothing is accepted in '%s': 'kiln accept ARCHIVE... --to %s' "
            "begins it, and freezes what is accepted first",
            folder, folder);
    KILN_TRY(lock_folder(&c, &fd, err));
    const kiln_status st = freeze(&c, model, n, err);
    close(fd);
    if (st == KILN_OK)
        *out = c.rows;
    return st;
}

/* ---- what was done --------------------------------------------------------------- */

void kiln_accept_text(kiln_buf *out, const kiln_accept_rows *rows, bool is_dry) {
    for (size_t i = 0; i < rows->n; i++) {
        const kiln_accept_row *r = &rows->v[i];
        const kiln_accepted *e = &r->entry;
        kiln_buf_printf(out, "%s %s, version %s, %s, %d thread%s: sha256 %.*s",
                        r->is_unchanged ? "unchanged"
                        : is_dry        ? "would accept"
                                        : "accepted",
                        e->model, e->version, e->profile, e->threads,
                        e->threads == 1 ? "" : "s", NAME_DIGITS, e->sha256);
        if (r->replaces != NULL && !r->is_unchanged)
            kiln_buf_printf(out, " replaces %.*s", NAME_DIGITS, r->replaces);
        if (r->not_tested != NULL)
            kiln_buf_printf(out, "; its self-test was not run: %s", r->not_tested);
        if (r->judge == KILN_JUDGED_NOBODY)
            kiln_buf_puts(out, "; nobody but itself says that it is right");
        kiln_buf_puts(out, "\n");
    }
}

void kiln_accept_json(kiln_buf *out, const kiln_accept_rows *rows, bool is_dry) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < rows->n; i++) {
        const kiln_accept_row *r = &rows->v[i];
        kiln_json_begin_object(&w);
        kiln_json_member_str(&w, "path", r->path);
        kiln_json_member_str(&w, "model", r->entry.model);
        kiln_json_member_str(&w, "profile", r->entry.profile);
        kiln_json_member_i64(&w, "threads", r->entry.threads);
        kiln_json_member_str(&w, "version", r->entry.version);
        kiln_json_member_str(&w, "sha256", r->entry.sha256);
        kiln_json_member_i64(&w, "bytes", r->entry.bytes);
        kiln_json_member_str(&w, "replaces", r->replaces);
        kiln_json_member_bool(&w, "changed", !r->is_unchanged && !is_dry);
        kiln_json_member_str(&w, "not_tested", r->not_tested);
        kiln_json_member_str(&w, "judged_by", kiln_accept_judge_name(r->judge));
        kiln_json_end_object(&w);
    }
    kiln_json_end_array(&w);
    kiln_buf_puts(out, "\n");
}
