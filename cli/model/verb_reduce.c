/* kiln reduce: the smallest graph for which kiln fails as it does for a model. */
#include "cli/model/verb_reduce.h"
#include "cli/options/db_option.h"
#include "cli/options/op_options.h"
#include "pipeline/pipeline.h"
#include "pipeline/reduce/reduce.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum {
    OPT_PROFILE,
    OPT_OUT,
    OPT_EXPECT,
    OPT_TIME,
    OPT_CASE_TIME,
    OPT_NUMERICS,
    OPT_CONFIG_FILE,
    OPT_DB,
    OPT_NO_READY,
    OPT_THREADS,
    OPT_SHAPE,
    OPT_BIND,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_PROFILE] = {"--profile", "P", "build for this profile (native)", false},
    [OPT_OUT] = {"-o", "FILE", "the small graph (MODEL.kgraph, here)", false},
    [OPT_EXPECT] = {"--expect", "TEXT",
                    "only failures whose message has this text are the one", false},
    [OPT_TIME] = {"--time-limit", "T", "stop after 90, 90s, 15m or 2h (60s)", false},
    [OPT_CASE_TIME] = {"--case-limit", "T",
                       "a build that takes longer is no failure (30s)", false},
    [OPT_NUMERICS] = KILN_NUMERICS_OPTION,
    [OPT_CONFIG_FILE] = {"--config-file", "FILE",
                         "JSON list of {\"op\", \"template\", \"config\"}", false},
    [OPT_DB] = KILN_DB_OPTION,
    [OPT_NO_READY] = KILN_NO_READY_OPTION,
    [OPT_THREADS] = {"--threads", "N",
                     "records of kernels tuned for so many threads (1)", false},
    [OPT_SHAPE] = {"--shape", "NAME:DIMS", "bind an input's dynamic dimensions", true},
    [OPT_BIND] = {"--bind", "NAME=VALUE", "fix an input: a number, FILE.npy or FILE.pb",
                  true},
};

/* Those of the verb that change what is built; the graph has shapes and values in it.
 */
static const int same[] = {OPT_NUMERICS, OPT_CONFIG_FILE, OPT_DB, OPT_NO_READY,
                           OPT_THREADS};
enum { N_SAME = sizeof same / sizeof same[0] };

/* ---- progress -------------------------------------------------------------------- */

static void show(void *user, const kiln_reduce_state *s) {
    (void)user;
    kiln_arena scratch = {0};
    const char *note = kiln_format(
        &scratch, "%.0f s: %zu node%s, %" PRId64 " element%s", s->seconds, s->n_nodes,
        kiln_plural((int64_t)s->n_nodes), s->n_elems, kiln_plural(s->n_elems));
    kiln_progress_step("reducing", "builds", s->n_asked, 0, note);
    kiln_arena_fini(&scratch);
}

/* ---- the work -------------------------------------------------------------------- */

static void options_of(const kiln_cli_args *args, const kiln_option *option,
                       const kiln_reduce_to *to, kiln_reduce_options *o) {
    KILN_VEC(const char *) word = {0};
    kiln_vec_push(args->arena, &word, "--profile");
    kiln_vec_push(args->arena, &word, to->profile);
    KILN_ASSERT(to->profile != NULL, "an example for no profile");
    for (size_t i = 0; i < to->n_same; i++)
        for (size_t k = 0; k < args->n_value[to->same[i]]; k++) {
            kiln_vec_push(args->arena, &word, option[to->same[i]].name);
            if (option[to->same[i]].metavar != NULL)
                kiln_vec_push(args->arena, &word, args->value[to->same[i]][k]);
        }
    o->option = word.v;
    o->n_options = word.n;
    o->seconds = to->seconds;
    o->expect = to->expect;
}

static kiln_status reduce(const kiln_graph *g, const char *path,
                          const kiln_reduce_options *o, kiln_arena *a, kiln_reduced *r,
                          kiln_err *err) {
    kiln_reduce_options shown = *o;
    shown.progress = show;
    kiln_interrupt_catch();
    const kiln_status st = kiln_reduce(a, g, &shown, r, err);
    if (st != KILN_OK || !r->is_reproduced)
        return st;
    return kiln_reduced_write(r, o, path, err);
}

void kiln_cli_leave_reproducer(const kiln_cli_args *args, const kiln_option *option,
                               const kiln_graph *imported, const kiln_reduce_to *to) {
    kiln_reduce_options o = {.option = NULL};
    kiln_reduced r;
    kiln_err err = {0};
    options_of(args, option, to, &o);
    if (reduce(imported, to->path, &o, args->arena, &r, &err) != KILN_OK)
        fprintf(stderr, "no small example of it could be made: %s\n", err.text);
    else if (!r.is_reproduced)
        fprintf(stderr, "no small example of it was found: kiln reduce may look for "
                        "longer\n");
    else
        fprintf(stderr, "a small example of it, of %zu node%s: %s\n", r.state.n_nodes,
                kiln_plural((int64_t)r.state.n_nodes),
                kiln_reduced_command(args->arena, &o, to->path));
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_arena *a = args->arena;
    const char *model = args->pos[0];
    kiln_import_options import;
    kiln_reduced r;
    kiln_buf text;
    kiln_source source;
    kiln_reduce_options o = {.option = NULL};
    kiln_reduce_to to = {.profile = kiln_args_get(args, OPT_PROFILE, "native"),
                         .same = same,
                         .n_same = N_SAME,
                         .expect = kiln_args_get(args, OPT_EXPECT, NULL)};
    KILN_TRY(kiln_cli_seconds(args, OPT_TIME, "--time-limit", &to.seconds, err));
    KILN_TRY(
        kiln_cli_seconds(args, OPT_CASE_TIME, "--case-limit", &o.case_seconds, err));
    static const kiln_cli_import_at at = {OPT_SHAPE, OPT_BIND, -1, -1, -1};
    KILN_TRY(kiln_cli_import_options(args, model, &at, &import, err));
    KILN_TRY(kiln_source_import(a, model, &import, &source, err));
    to.path = kiln_args_get(args, OPT_OUT, kiln_format(a, "%s.kgraph", source.name));
    options_of(args, options, &to, &o);
    KILN_TRY(reduce(source.imported, to.path, &o, a, &r, err));
    kiln_buf_init(&text, a);
    if (!r.is_reproduced) {
        *exit_code = KILN_EXIT_CHECK;
        kiln_buf_printf(&text, "'%s' does not fail%s%s\n", model,
                        to.expect != NULL ? " with " : "",
                        to.expect != NULL ? to.expect : "");
    } else {
        kiln_buf_printf(&text,
                        "%zu node%s, %" PRId64 " element%s after %d build%s, %.0f s%s\n"
                        "%s\n%s\n",
                        r.state.n_nodes, kiln_plural((int64_t)r.state.n_nodes),
                        r.state.n_elems, kiln_plural(r.state.n_elems), r.state.n_asked,
                        kiln_plural(r.state.n_asked), r.state.seconds,
                        r.is_finished ? "" : " (more time may find a smaller one)",
                        r.message, kiln_reduced_command(a, &o, to.path));
    }
    return kiln_cli_output(NULL, kiln_buf_str(&text), err);
}

const kiln_verb kiln_verb_reduce = {
    .name = "reduce",
    .summary = "find a small graph for which kiln fails as it does for a model",
    .usage = "MODEL [--profile P] [options]",
    .example = "  kiln reduce model.onnx --profile x86-avx2 -o small.kgraph\n"
               "  kiln reduce model.onnx --expect 'step 4' --time-limit 10m\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
