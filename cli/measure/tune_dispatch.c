/* kiln tune --dispatch: the same command on several machines that a scheduler hands out,
 * all on one database (docs/fleet.md). */
#include "cli/measure/verb_tune.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/options/db_option.h"
#include "pipeline/fleet/fleet.h"

typedef KILN_VEC(const char *) words;

void kiln_cli_tune_key(const kiln_profile *kernels, char hex[KILN_SHA256_HEX]) {
    kiln_arena scratch = {0};
    kiln_buf json;
    kiln_buf_init(&json, &scratch);
    kiln_profile_json(&json, kernels);
    kiln_db_profile_key(json.p, hex);
    kiln_arena_fini(&scratch);
}

/* ---- the command ----------------------------------------------------------------- */

/* What each tuner gets in its own way, and what is the dispatcher's. */
static bool is_passed_on(int option) {
    static const int own[] = {
        OPT_DB,     OPT_JSON,  OPT_TIME, OPT_SEED, OPT_DISPATCH, OPT_TUNERS,
        OPT_FOLDER, OPT_SHARD, OPT_AS,   OPT_KEY,  OPT_NO_WAIT,  OPT_DISPATCH_OPTION};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i] == option)
            return false;
    return true;
}

static const char *const *command_of(const kiln_cli_args *args,
                                     const kiln_option *option,
                                     const kiln_profile *kernels, const char *db) {
    kiln_arena *a = args->arena;
    char key[KILN_SHA256_HEX];
    words w = {.n = 0};
    kiln_cli_tune_key(kernels, key);
    kiln_vec_push(a, &w, "tune");
    if (args->n_pos > 0)
        kiln_vec_push(a, &w, args->pos[0]);
    for (int i = 0; i < N_OPTIONS; i++)
        for (size_t k = 0; k < args->n_value[i] && is_passed_on(i); k++) {
            kiln_vec_push(a, &w, option[i].name);
            if (option[i].metavar != NULL)
                kiln_vec_push(a, &w, args->value[i][k]);
        }
    const char *const more[] = {"--db",
                                db,
                                "--profile-key",
                                kiln_str_dup(a, key),
                                "--seed",
                                kiln_args_get(args, OPT_SEED, "1"),
                                NULL};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        kiln_vec_push(a, &w, more[i]);
    return w.v;
}

/* Of a time limit the last one, which does what only one can, has a quarter. */
static const char *const *own_words(kiln_arena *a, const char *shard, const char *name,
                                    double seconds) {
    KILN_ASSERT(name != NULL && seconds >= 0, "a tuner of no name, for %g s", seconds);
    words w = {.n = 0};
    const char *const more[] = {"--as", name, "--json", "{out}.json", NULL};
    if (shard != NULL) {
        kiln_vec_push(a, &w, "--shard");
        kiln_vec_push(a, &w, shard);
    }
    if (seconds > 0) {
        kiln_vec_push(a, &w, "--time-limit");
        kiln_vec_push(a, &w, kiln_format(a, "%.0fs", fmax(1, seconds)));
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        kiln_vec_push(a, &w, more[i]);
    return w.v;
}

static kiln_status own_version(kiln_arena *a, const char *program, const char **out,
                               kiln_err *err) {
    const char *const argv[] = {program, "--version", NULL};
    const kiln_process_options o = {.argv = argv, .time_limit_ms = 60000};
    kiln_process_result r;
    KILN_TRY(kiln_process_run(a, &o, &r, err));
    if (r.end != KILN_PROCESS_EXITED || r.code != 0)
        return kiln_fail(err, KILN_ERR_IO, "'%s --version' fails", program);
    size_t n = r.out.n; /* as a shell's $(...) has it */
    while (n > 0 && r.out.p[n - 1] == '\n')
        n--;
    *out = kiln_str_dupv(a, (kiln_str){r.out.p, n});
    return KILN_OK;
}

/* The tables are made here, and what is wrong with the address is told before anything
 * is submitted. */
static kiln_status check_db(const kiln_cli_args *args, const char **out,
                            kiln_err *err) {
    kiln_db *db = NULL;
    KILN_TRY(kiln_cli_db_path(args, OPT_DB, false, out, err));
    if (kiln_db_file(*out) != NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--dispatch needs a database that all machines reach, --db "
                         "postgresql://USER@HOST/DATABASE; '%s' is a file of one",
                         *out);
    KILN_TRY(kiln_db_open(args->arena, *out, NULL, &db, err));
    kiln_db_close(db);
    return KILN_OK;
}

static kiln_status check_options(const kiln_cli_args *args, kiln_err *err) {
    static const int here[] = {OPT_RUNNER, OPT_POOL, OPT_SHARD, OPT_AS};
    static const char *const name[] = {"--runner", "--pool", "--shard", "--as"};
    for (size_t i = 0; i < sizeof here / sizeof here[0]; i++)
        if (kiln_args_has(args, here[i]))
            return kiln_fail(err, KILN_ERR_ARG,
                             "%s does not go with --dispatch, whose tuners measure on "
                             "the machines that they are given",
                             name[i]);
    return KILN_OK;
}

/* ---- what became of it ----------------------------------------------------------- */

static int64_t trials_of(kiln_arena *a, const kiln_fleet_member *m) {
    const kiln_json *json = NULL;
    int64_t n = -1;
    const char *path = kiln_format(a, "%s.json", m->out);
    if (!kiln_file_exists(path) || kiln_json_read(a, path, &json, NULL) != KILN_OK ||
        !kiln_json_i64(kiln_json_get(json, "new_trials"), &n))
        return -1;
    return n;
}

static void put_members(kiln_arena *a, kiln_buf *out, const kiln_fleet *f) {
    kiln_buf_printf(out, "%-6s %-16s %-12s %8s %8s\n", "tuner", "node", "ended",
                    "trials", "restarts");
    for (size_t i = 0; i < f->member.n; i++) {
        const kiln_fleet_member *m = &f->member.v[i];
        const int64_t n = trials_of(a, m);
        kiln_buf_printf(out, "%-6s %-16s %-12s %8s %8d%s%s\n", m->name, m->node,
                        m->is_good ? "well" : m->state,
                        n >= 0 ? kiln_format(a, "%" PRId64, n) : "-", m->restarts,
                        m->is_good ? "" : "  ", m->why);
    }
    kiln_buf_puts(out, "\n");
}

static kiln_status put_file(kiln_arena *a, kiln_buf *out, const char *path,
                            kiln_err *err) {
    kiln_str text;
    KILN_TRY(kiln_file_map(a, path, KILN_JSON_MAX_BYTES, &text, err));
    kiln_buf_add(out, text.p, text.n);
    return KILN_OK;
}

static kiln_status give_answer(const kiln_cli_args *args, const kiln_fleet *f,
                               kiln_err *err) {
    kiln_arena *a = args->arena;
    KILN_ASSERT(f->member.n > 0, "a fleet of nobody has no last tuner");
    const kiln_fleet_member *last = &f->member.v[f->member.n - 1];
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, a);
    put_members(a, &answer.text, f);
    if (!last->is_good) {
        kiln_cli_say("%s", answer.text.p);
        return kiln_fail(
            err, KILN_ERR_IO,
            "the last tuner of the fleet failed%s%s: %s; what was measured "
            "is on record, the same command goes on ('%s.log' has the rest)",
            last->node[0] != '\0' ? " on node " : "", last->node,
            last->why[0] != '\0' ? last->why : last->state, last->out);
    }
    KILN_TRY(put_file(a, &answer.text, kiln_format(a, "%s.txt", last->out), err));
    KILN_TRY(put_file(a, &answer.json, kiln_format(a, "%s.json", last->out), err));
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

static kiln_status submit(const kiln_cli_args *args, const kiln_fleet_engine *engine,
                          const kiln_fleet_options *o, kiln_err *err) {
    kiln_arena *a = args->arena;
    kiln_fleet fleet;
    KILN_TRY(kiln_fleet_submit(a, engine, o, &fleet, err));
    const char *look = kiln_fleet_look_command(a, &fleet);
    kiln_cli_say("job %s: %d tuner%s, and job %s behind them; '%s' shows them, their "
                 "logs are in '%s'\n",
                 fleet.job, o->n, kiln_plural(o->n), fleet.last_job, look, o->dir);
    if (kiln_args_has(args, OPT_NO_WAIT))
        return kiln_cli_output(
            NULL, kiln_str_from(kiln_format(a, "%s %s\n", fleet.job, fleet.last_job)),
            err);
    const kiln_status st = kiln_fleet_wait(a, &fleet, err);
    if (st != KILN_OK) {
        kiln_note(err, "waiting for jobs that go on: '%s' shows them, '%s' ends them",
                  look, kiln_fleet_end_command(a, &fleet));
        return st;
    }
    return give_answer(args, &fleet, err);
}

kiln_status kiln_cli_tune_dispatch(const kiln_cli_args *args, const kiln_option *option,
                                   const kiln_profile *kernels, double seconds,
                                   kiln_err *err) {
    kiln_arena *a = args->arena;
    const char *name = kiln_args_get(args, OPT_DISPATCH, NULL), *db = NULL;
    const kiln_fleet_engine *engine = kiln_fleet_engine_find(name);
    const char *dir = kiln_args_get(args, OPT_FOLDER, "kiln-fleet");
    const size_t n_more = args->n_value[OPT_DISPATCH_OPTION];
    const char **more = kiln_array(a, const char *, n_more + 1);
    kiln_fleet_options o = {.name = "kiln-tune", .engine_option = more};
    char *program = NULL;
    if (engine == NULL)
        return kiln_fail(err, KILN_ERR_ARG, "--dispatch must be one of %s, is '%s'",
                         kiln_fleet_engine_names(a),
                         kiln_str_printable(a, kiln_str_from(name), 64));
    KILN_TRY(check_options(args, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_TUNERS, "4"), "--tuners", 1,
                             KILN_FLEET_MOST, &o.n, err));
    KILN_TRY(check_db(args, &db, err));
    KILN_TRY(kiln_dir_make(dir, err));
    KILN_TRY(kiln_path_real(a, dir, &o.dir, err));
    KILN_TRY(kiln_path_real(a, ".", &o.cwd, err));
    KILN_TRY(kiln_program_own(a, &program, err));
    KILN_TRY(own_version(a, program, &o.version, err));
    for (size_t i = 0; i < n_more; i++)
        more[i] = args->value[OPT_DISPATCH_OPTION][i];
    o.program = program;
    o.all = command_of(args, option, kernels, db);
    o.each = own_words(a, kiln_format(a, "{member}/%d", o.n),
                       kiln_format(a, "%s-{job}.{member}", name), seconds * 3 / 4);
    o.last = own_words(a, NULL, kiln_format(a, "%s-{job}", name), seconds / 4);
    kiln_interrupt_catch();
    return submit(args, engine, &o, err);
}
