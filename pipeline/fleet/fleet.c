/* Submitting, and waiting for the end of all. */
#include "pipeline/fleet/fleet_engine.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const kiln_fleet_engine *const engines[] = {
#define KILN_FLEET_ENGINE(name) &kiln_fleet_engine_##name,
#include "pipeline/fleet/engines.def"
#undef KILN_FLEET_ENGINE
};
enum { N_ENGINES = sizeof engines / sizeof engines[0] };

const kiln_fleet_engine *kiln_fleet_engine_find(const char *name) {
    for (int i = 0; i < N_ENGINES; i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    return NULL;
}

const char *kiln_fleet_engine_names(kiln_arena *a) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    for (int i = 0; i < N_ENGINES; i++)
        kiln_buf_printf(&out, "%s%s", i > 0 ? ", " : "", engines[i]->name);
    return out.p;
}

/* Numbers of jobs behind a command. */
static const char *command(kiln_arena *a, const kiln_fleet *f, const char *begin,
                           const char *separator) {
    return kiln_format(a, "%s%s%s%s", begin, f->job, separator, f->last_job);
}
const char *kiln_fleet_look_command(kiln_arena *a, const kiln_fleet *f) {
    return command(a, f, f->engine->look_command, f->engine->separator);
}
const char *kiln_fleet_end_command(kiln_arena *a, const kiln_fleet *f) {
    return command(a, f, f->engine->end_command, " ");
}

/* ---- submitting ------------------------------------------------------------------ */

static kiln_status write_script(kiln_arena *a, const kiln_fleet_engine *engine,
                                const kiln_fleet_options *o, bool is_last,
                                const char **path, kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_fleet_script(&text, engine, o, is_last);
    *path = kiln_path_join(a, o->dir, is_last ? "last.sh" : "each.sh");
    KILN_TRY(kiln_file_write(*path, text.p, text.n, err));
    return chmod(*path, 0755) == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_IO, "cannot make '%s' executable", *path);
}

static void add_member(kiln_arena *a, kiln_fleet *f, const char *job,
                       const char *name) {
    const kiln_fleet_member m = {.name = name,
                                 .out =
                                     kiln_format(a, "%s/%s.%s", f->o->dir, job, name),
                                 .state = "",
                                 .node = "",
                                 .why = "",
                                 .code = -1};
    kiln_vec_push(a, &f->member, m);
}

kiln_status kiln_fleet_submit(kiln_arena *a, const kiln_fleet_engine *engine,
                              const kiln_fleet_options *o, kiln_fleet *out,
                              kiln_err *err) {
    const char *each = NULL, *last = NULL;
    kiln_fleet f = {.engine = engine, .o = o};
    KILN_ASSERT(o->n >= 1 && o->n <= KILN_FLEET_MOST, "a fleet of %d", o->n);
    KILN_TRY(kiln_dir_make(o->dir, err));
    KILN_TRY(write_script(a, engine, o, false, &each, err));
    KILN_TRY(write_script(a, engine, o, true, &last, err));
    KILN_TRY(engine->submit(a, o, each, o->n, NULL, &f.job, err));
    const kiln_status st = engine->submit(a, o, last, 0, f.job, &f.last_job, err);
    if (st != KILN_OK) {
        kiln_note(err,
                  "submitting the last tuner; job %s, which it was to follow, is "
                  "there: '%s%s' ends it",
                  f.job, engine->end_command, f.job);
        return st;
    }
    for (int i = 0; i < o->n; i++)
        add_member(a, &f, f.job, kiln_format(a, "%d", i));
    add_member(a, &f, f.last_job, "last");
    *out = f;
    return KILN_OK;
}

/* ---- waiting --------------------------------------------------------------------- */

/* What the script kept; -1: nothing yet. */
static int code_of(kiln_arena *a, const kiln_fleet_member *m) {
    enum { MAX_BYTES = 64 };
    kiln_str text;
    const char *path = kiln_format(a, "%s.code", m->out);
    if (!kiln_file_exists(path) ||
        kiln_file_map(a, path, MAX_BYTES, &text, NULL) != KILN_OK)
        return -1;
    int64_t code = -1;
    return kiln_parse_i64(kiln_str_trim(text), &code) && code >= 0 && code < 256
               ? (int)code
               : -1;
}

/* The last failure that its log names. */
static const char *last_word(kiln_arena *a, const kiln_fleet_member *m) {
    enum { MAX_BYTES = 16 * 1024 * 1024, MOST = 300 };
    kiln_str text, line, found = {"", 0};
    const char *path = kiln_format(a, "%s.log", m->out);
    if (!kiln_file_exists(path) ||
        kiln_file_map(a, path, MAX_BYTES, &text, NULL) != KILN_OK)
        return "";
    while (text.n > 0) {
        line = text;
        if (!kiln_str_cut(&text, '\n', &line))
            text = (kiln_str){"", 0};
        if (kiln_str_starts(line, "error: "))
            found = (kiln_str){line.p + 7, line.n - 7};
    }
    return kiln_str_printable(a, found, MOST);
}

static void conclude(kiln_arena *a, kiln_fleet_member *m, const char *reason) {
    m->code = code_of(a, m);
    /* On a shared file system what a node wrote last may come late. */
    m->is_good = m->is_good && m->code <= 0;
    if (m->is_good)
        return;
    m->why = last_word(a, m);
    if (m->why[0] == '\0')
        m->why = kiln_str_dup(a, reason);
}

static void hear(kiln_arena *a, kiln_fleet_member *m, const kiln_fleet_said *s) {
    m->state = kiln_str_dup(a, s->state);
    if (s->node[0] != '\0')
        m->node = kiln_str_dup(a, s->node);
    m->restarts = s->restarts > m->restarts ? s->restarts : m->restarts;
    m->has_ended = s->has_ended;
    m->is_good = s->is_good;
    m->why = "";
    if (m->has_ended)
        conclude(a, m, s->reason);
}

/* Nobody knows it any more: what it left says how it ended. */
static void forget(kiln_arena *a, kiln_fleet_member *m) {
    m->has_ended = true;
    m->is_good = code_of(a, m) == 0;
    m->state = m->is_good ? "COMPLETED" : "GONE";
    conclude(a, m, "the scheduler does not know it any more");
}

/* Members from `first` on are `job`'s. */
static kiln_status look(kiln_arena *a, kiln_fleet *f, const char *job, size_t first,
                        size_t n, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_fleet_says says;
    const kiln_status st = f->engine->look(&scratch, job, &says, err);
    for (size_t i = first; st == KILN_OK && i < first + n; i++) {
        kiln_fleet_member *m = &f->member.v[i];
        const kiln_fleet_said *found = NULL;
        for (size_t k = 0; k < says.n; k++)
            if (says.v[k].member < 0 || (size_t)says.v[k].member == i - first)
                found = &says.v[k];
        /* What ended with its node may be on its way again. */
        if (found != NULL)
            hear(a, m, found);
        else if (!m->has_ended)
            forget(a, m);
    }
    kiln_arena_fini(&scratch);
    return st;
}

static void tell(const kiln_fleet *f) {
    size_t n_ended = 0, n_runs = 0;
    kiln_arena scratch = {0};
    for (size_t i = 0; i < f->member.n; i++) {
        n_ended += f->member.v[i].has_ended;
        n_runs += !f->member.v[i].has_ended &&
                  strncmp(f->member.v[i].state, "RUNNING", 7) == 0;
    }
    kiln_progress_step("waiting for the fleet", "tuners", (double)n_ended,
                       (double)f->member.n,
                       kiln_format(&scratch, "job %s, %zu running", f->job, n_runs));
    kiln_arena_fini(&scratch);
}

static bool have_ended(const kiln_fleet *f) {
    for (size_t i = 0; i < f->member.n; i++)
        if (!f->member.v[i].has_ended)
            return false;
    return true;
}

/* In small steps: an interrupt ends it within one. */
static kiln_status pause_for(int ms, kiln_err *err) {
    enum { STEP_MS = 200 };
    for (; ms > 0 && !kiln_interrupted(); ms -= STEP_MS)
        (void)poll(NULL, 0, ms < STEP_MS ? ms : STEP_MS);
    return kiln_interrupt_check(err);
}

static int pause_of(const kiln_fleet *f, int64_t waited_ns) {
    enum { LEAST_MS = 1000, MOST_MS = 10000 };
    const int64_t tenth = waited_ns / 10000000;
    if (f->o->poll_ms > 0)
        return f->o->poll_ms;
    return tenth < LEAST_MS ? LEAST_MS : tenth > MOST_MS ? MOST_MS : (int)tenth;
}

kiln_status kiln_fleet_wait(kiln_arena *a, kiln_fleet *f, kiln_err *err) {
    enum { PATIENCE_MS = 600000 };
    KILN_ASSERT(f->member.n > 0, "a fleet without its last member");
    const size_t n = f->member.n - 1;
    const int64_t begin_ns = kiln_now_ns();
    int64_t silent_since_ns = 0;
    while (!have_ended(f)) {
        kiln_err why = {0};
        tell(f);
        KILN_TRY(pause_for(pause_of(f, kiln_now_ns() - begin_ns), err));
        kiln_status st = look(a, f, f->job, 0, n, &why);
        if (st == KILN_OK)
            st = look(a, f, f->last_job, n, 1, &why);
        if (st == KILN_OK) {
            silent_since_ns = 0;
            continue;
        }
        /* Schedulers are restarted, and jobs go on meanwhile. */
        if (silent_since_ns == 0)
            silent_since_ns = kiln_now_ns();
        if (st == KILN_ERR_INTERRUPTED ||
            kiln_now_ns() - silent_since_ns > PATIENCE_MS * (int64_t)1000000) {
            *err = why;
            return st;
        }
    }
    return KILN_OK;
}
