/* kiln profile: what kiln can make code for, and what this machine is.
 *
 *   kiln profile detect          this machine, as JSON, measured the first time;
 *                                --measure: measured anew; --gpu: one of its GPUs
 *   kiln profile list            the profiles that ship, and which run here
 *   kiln profile show NAME|FILE  one of them, as JSON
 */
#include "cli/cli.h"
#include "compiler/target/target.h"
#include "pipeline/baselines/baselines.h"
#include "pipeline/devices/devices.h"
#include "pipeline/machine/machine.h"

#include <string.h>

enum { OPT_OUTPUT, OPT_JSON, OPT_MEASURE, OPT_NO_MEASURE, OPT_GPU, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_OUTPUT] = {"-o", "FILE", "write to a file instead of standard output", false},
    [OPT_JSON] = {"--json", "FILE", "list: as JSON ('-': standard output)", false},
    [OPT_MEASURE] = {"--measure", NULL,
                     "detect: measure what a core does in a cycle once more, and keep "
                     "it for builds with profile native",
                     false},
    [OPT_NO_MEASURE] = {"--no-measure", NULL,
                        "detect: measure nothing, even where nothing is kept", false},
    [OPT_GPU] =
        {"--gpu", "WHICH",
         "detect: the profile of this GPU, by its number in the list of them, or "
         "the first of a kind: cuda, opencl",
         false},
};

static kiln_status print_json(const kiln_cli_args *args, const kiln_profile *p,
                              kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, args->arena);
    kiln_profile_document(&text, p);
    return kiln_cli_output(kiln_args_get(args, OPT_OUTPUT, NULL), kiln_buf_str(&text),
                           err);
}

/* A few seconds; builds read what is kept. */
static kiln_status measure(kiln_arena *a, kiln_err *err) {
    kiln_profile native;
    kiln_machine_model m;
    const char *path = NULL;
    KILN_TRY(kiln_profile_detect(a, &native, err));
    KILN_TRY(kiln_machine_measure(a, &native, &m, err));
    KILN_TRY(kiln_machine_keep(a, &native, &m, &path, err));
    kiln_cli_say("measured in %.1f s: %d slices, %d disturbed, spread %.0f%%; kept in "
                 "%s\n",
                 m.seconds, m.slices, m.disturbed, 100 * m.spread, path);
    return KILN_OK;
}

/* Once for each machine. Where that fails nothing is known of it, as before. */
static void measure_once(kiln_arena *a) {
    kiln_profile native;
    const kiln_machine_model *kept = NULL;
    kiln_err err = {.status = KILN_OK};
    kiln_status st = kiln_profile_detect(a, &native, &err);
    if (st == KILN_OK)
        st = kiln_machine_kept(a, &native, &kept, &err);
    if (st == KILN_OK && kept == NULL)
        st = measure(a, &err);
    if (st != KILN_OK)
        KILN_LOG(WARN, "machine", "its core is not measured: %s", err.text);
}

/* This machine is measured here, beside what is installed. */
static kiln_status detect(const kiln_cli_args *args, kiln_profile *out, kiln_err *err) {
    kiln_arena *a = args->arena;
    const char *dir = NULL, **name = NULL;
    int n = 0;
    kiln_err none = {.status = KILN_OK};
    if (kiln_args_has(args, OPT_MEASURE))
        KILN_TRY(measure(a, err));
    else if (!kiln_args_has(args, OPT_NO_MEASURE))
        measure_once(a);
    KILN_TRY(kiln_machine_native(a, out, err));
    out->measure = kiln_device_local.name;
    if (kiln_baselines_dir(a, &dir, &none) != KILN_OK)
        return KILN_OK; /* nobody could have installed any */
    while (kiln_baseline_at(n) != NULL)
        n++;
    name = kiln_array(a, const char *, n + 1);
    out->baseline = name;
    for (int i = 0; i < n; i++) {
        const kiln_baseline *b = kiln_baseline_at(i);
        kiln_baseline_here here = {.is_here = false};
        kiln_err broken = {.status = KILN_OK};
        if (b->find(b, a, dir, &here, &broken) == KILN_OK && here.is_here)
            *name++ = b->name;
    }
    return KILN_OK;
}

/* Notes: what is printed is this machine's profile. */
static void list_gpus(kiln_arena *a) {
    const kiln_machine_gpus all = kiln_machine_gpus_here(a);
    int number = 0;
    for (int i = 0; i < all.n; i++) {
        const kiln_machine_gpu *g = &all.gpu[i];
        if (g->title == NULL)
            kiln_cli_say("no GPU of the kind %s: %s\n", g->kind, g->problem);
        else
            kiln_cli_say("GPU %d, %s: %s: %s\n", ++number, g->kind, g->title,
                         g->problem != NULL ? g->problem : g->text);
    }
    if (number > 0)
        kiln_cli_say(
            "kiln profile detect --gpu 1 -o FILE writes the first one's profile\n");
}

/* Its number counts those that are there; of a kind, the first that can be used. */
static kiln_status find_gpu(kiln_arena *a, const char *which, kiln_profile *out,
                            kiln_err *err) {
    const kiln_machine_gpus all = kiln_machine_gpus_here(a);
    const char *why = "";
    int number = 0;
    for (int i = 0; i < all.n; i++) {
        const kiln_machine_gpu *g = &all.gpu[i];
        number += g->title != NULL;
        if (strcmp(which, g->kind) != 0 &&
            (g->title == NULL || strcmp(which, kiln_format(a, "%d", number)) != 0))
            continue;
        if (g->problem == NULL) {
            *out = g->profile;
            return KILN_OK;
        }
        why = kiln_format(a, "; %s: %s", g->title != NULL ? g->title : g->kind,
                          g->problem);
    }
    return kiln_fail(err, KILN_ERR_IO,
                     "--gpu %s: this machine has no such GPU, of %d%s",
                     kiln_str_printable(a, kiln_str_from(which), 32), number, why);
}

/* Of which devices there are this list knows nothing: kiln doctor does. */
static void list_one(kiln_cli_answer *answer, const kiln_profile *p,
                     const kiln_profile *machine) {
    char missing[128];
    const bool runs = kiln_profile_runs_on(p, machine, missing);
    const bool is_gpu = kiln_profile_is_gpu(p);
    if (is_gpu)
        kiln_buf_printf(&answer->text, "%-18s %d threads a block  %s\n", p->name,
                        p->gpu.block_threads, "runs on a GPU");
    else
        kiln_buf_printf(&answer->text, "%-18s %d-byte vectors  %s\n", p->name,
                        p->vector_bytes, runs ? "runs here" : missing);
    kiln_json_begin_object(&answer->w);
    kiln_json_member_str(&answer->w, "name", p->name);
    kiln_json_member_str(&answer->w, "arch", kiln_arch_name(p->arch));
    kiln_json_member_i64(&answer->w, "vector_bytes", p->vector_bytes);
    if (is_gpu)
        kiln_json_member_i64(&answer->w, "block_threads", p->gpu.block_threads);
    kiln_json_member_bool(&answer->w, "runs_here", runs);
    kiln_json_member_str(&answer->w, "missing", runs ? NULL : missing);
    kiln_json_end_object(&answer->w);
}

static kiln_status list(const kiln_cli_args *args, kiln_err *err) {
    kiln_profile machine;
    kiln_cli_answer answer;
    KILN_TRY(kiln_profile_detect(args->arena, &machine, err));
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_array(&answer.w);
    for (int i = 0; kiln_profile_at(i) != NULL; i++)
        list_one(&answer, kiln_profile_at(i), &machine);
    for (int i = 0; kiln_cpu_profile_at(i) != NULL; i++)
        list_one(&answer, kiln_cpu_profile_at(i), &machine);
    for (int i = 0; kiln_gpu_profile_at(i) != NULL; i++)
        list_one(&answer, kiln_gpu_profile_at(i), &machine);
    kiln_json_end_array(&answer.w);
    if (kiln_args_has(args, OPT_OUTPUT))
        return kiln_cli_output(kiln_args_get(args, OPT_OUTPUT, NULL),
                               kiln_buf_str(&answer.text), err);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    const char *what = args->pos[0];
    kiln_profile p;
    *exit_code = KILN_EXIT_OK;
    if (kiln_args_has(args, OPT_MEASURE) && kiln_args_has(args, OPT_NO_MEASURE))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--measure and --no-measure exclude each other; give one");
    const bool says_whether =
        kiln_args_has(args, OPT_MEASURE) || kiln_args_has(args, OPT_NO_MEASURE);
    if (kiln_args_has(args, OPT_GPU) && (says_whether || strcmp(what, "detect") != 0))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--gpu is for kiln profile detect, which measures no GPU");
    if (says_whether && strcmp(what, "detect") != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--measure and --no-measure are for kiln profile detect");
    if (strcmp(what, "list") == 0 && args->n_pos == 1)
        return list(args, err);
    if (kiln_args_has(args, OPT_JSON))
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln profile %s prints JSON as it is; --json is for list",
                         kiln_str_printable(args->arena, kiln_str_from(what), 32));
    if (strcmp(what, "detect") == 0 && args->n_pos == 1) {
        const char *gpu = kiln_args_get(args, OPT_GPU, NULL);
        KILN_TRY(gpu != NULL ? find_gpu(args->arena, gpu, &p, err)
                             : detect(args, &p, err));
        KILN_TRY(print_json(args, &p, err));
        if (gpu == NULL)
            list_gpus(args->arena);
        return KILN_OK;
    }
    if (strcmp(what, "show") == 0 && args->n_pos == 2) {
        KILN_TRY(kiln_machine_find(args->arena, args->pos[1], &p, err));
        return print_json(args, &p, err);
    }
    return kiln_fail(err, KILN_ERR_ARG,
                     "kiln profile takes detect, list, or show NAME; see kiln profile "
                     "--help");
}

const kiln_verb kiln_verb_profile = {
    .name = "profile",
    .summary = "list, show and detect hardware profiles",
    .usage = "detect | list | show NAME|FILE",
    .example = "  kiln profile detect -o here.json\n  kiln profile detect --measure\n  "
               "kiln profile detect --gpu cuda -o gpu.json\n  "
               "kiln profile show x86-avx2\n",
    .n_pos_min = 1,
    .n_pos_max = 2,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
