/* kiln run: a package on given inputs; its outputs as .npy files. */
#include "cli/options/op_options.h"
#include "cli/options/sign_option.h"
#include "pipeline/package/package.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN_BYTES = 200 }; /* of a name */

enum {
    OPT_INPUT,
    OPT_RANDOM,
    OPT_OUTPUT_DIR,
    OPT_THREADS,
    OPT_RUNNER,
    OPT_PRIORITY,
    OPT_KEYRING,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_INPUT] = {"--input", "NAME=FILE.npy", "an input", true},
    [OPT_RANDOM] = {"--random", "SEED", "random numbers for inputs that are not given",
                    false},
    [OPT_OUTPUT_DIR] = {"--output-dir", "DIR",
                        "write DIR/<output>.npy; bytes of its name that files "
                        "should not have are %XX",
                        false},
    [OPT_THREADS] = {"--threads", "N", "threads (1)", false},
    [OPT_RUNNER] = KILN_RUNNER_OPTION,
    [OPT_PRIORITY] = KILN_PRIORITY_OPTION,
    [OPT_KEYRING] = KILN_KEYRING_OPTION,
    [OPT_JSON] = {"--json", "FILE",
                  "write names, types, files and time as JSON ('-': standard output)",
                  false},
};

/* Names may hold '=', files seldom do: the last one separates. */
static kiln_status read_input(kiln_arena *a, const char *text, kiln_named_tensor *out,
                              kiln_err *err) {
    const char *equal = strrchr(text, '=');
    if (equal == NULL || equal == text || equal[1] == '\0')
        return kiln_fail(err, KILN_ERR_ARG, "--input must be NAME=FILE.npy, is '%s'",
                         text);
    out->name = kiln_str_dupv(a, (kiln_str){text, (size_t)(equal - text)});
    return kiln_tensor_read_npy(a, equal + 1, &out->value, err);
}

static kiln_status read_options(const kiln_cli_args *args, kiln_run_options *o,
                                kiln_err *err) {
    const size_t n = args->n_value[OPT_INPUT];
    kiln_named_tensor *in = kiln_array(args->arena, kiln_named_tensor, n);
    const char *seed = kiln_args_get(args, OPT_RANDOM, NULL);
    int64_t number = 0;
    for (size_t i = 0; i < n; i++)
        KILN_TRY(read_input(args->arena, args->value[OPT_INPUT][i], &in[i], err));
    if (seed != NULL && (!kiln_parse_i64(kiln_str_from(seed), &number) || number < 0))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--random must be a number of 0 or more, is '%s'", seed);
    *o = (kiln_run_options){
        .in = in, .n_in = n, .fills_random = seed != NULL, .seed = (uint64_t)number};
    return kiln_cli_number(kiln_args_get(args, OPT_THREADS, "1"), "--threads", 1,
                           KILN_DEVICE_MAX_THREADS, &o->n_threads, err);
}

static void put_outputs(kiln_buf *text, kiln_json_writer *w, const kiln_opened *p,
                        const char *const *path) {
    for (size_t i = 0; i < p->package.n_outputs; i++) {
        const kiln_device_port *port = &p->package.output[i];
        const char *type = kiln_type_text(text->arena, &port->type);
        const bool is_wider = port->type.dtype == KILN_BF16;
        kiln_buf_printf(
            text, "%s %s: %s%s\n",
            kiln_str_printable(text->arena, kiln_str_from(port->name), SHOWN_BYTES),
            type, path[i], is_wider ? " (as f32, exactly: .npy has no bf16)" : "");
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", port->name);
        kiln_json_member_str(w, "type", type);
        if (is_wider)
            kiln_json_member_str(w, "written_as", "f32");
        kiln_json_member_str(w, "file", path[i]);
        kiln_json_end_object(w);
    }
}

static kiln_status print(const kiln_cli_args *args, const kiln_opened *p,
                         const kiln_device_result *r, const char *const *path,
                         int64_t n_rounded, kiln_err *err) {
    const double ms = r->n_runs > 0 ? (double)r->run_ns[0] * 1e-6 : 0;
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_object(&answer.w);
    kiln_json_member_str(&answer.w, "model", p->facts.model);
    kiln_json_member_str(&answer.w, "version", p->facts.version);
    kiln_json_member_str(&answer.w, "profile", p->facts.profile.name);
    kiln_json_member_str(&answer.w, "device", p->device->name);
    kiln_json_member_f64(&answer.w, "ms", ms);
    kiln_json_member_i64(&answer.w, "rounded_inputs", n_rounded);
    kiln_json_name(&answer.w, "outputs");
    kiln_json_begin_array(&answer.w);
    put_outputs(&answer.text, &answer.w, p, path);
    kiln_json_end_array(&answer.w);
    kiln_json_end_object(&answer.w);
    if (n_rounded > 0)
        kiln_buf_printf(&answer.text,
                        "%" PRId64 " values of f32 inputs were rounded to bf16\n",
                        n_rounded);
    kiln_buf_printf(&answer.text, "%s %s ran in %.3f ms, once, on %s%s\n",
                    p->facts.model, p->facts.version, ms, p->device->name,
                    p->device->is_emulated ? " (emulated: no measure of speed)" : "");
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_interrupt_catch();
    (void)exit_code;
    const char *dir = kiln_args_get(args, OPT_OUTPUT_DIR, NULL);
    kiln_run_options o;
    kiln_opened p;
    kiln_device_result result = {.n_runs = 0};
    const kiln_keyring *keys = NULL;
    const kiln_device *where = NULL;
    const char **path = NULL;
    int64_t n_rounded = 0;
    if (dir == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "say where outputs go, by --output-dir DIR");
    KILN_TRY(read_options(args, &o, err));
    o.n_rounded = &n_rounded;
    KILN_TRY(kiln_cli_keyring(args, OPT_KEYRING, &keys, err));
    KILN_TRY(kiln_cli_device(args, OPT_RUNNER, OPT_PRIORITY, args->pos[0], keys, &where,
                             err));
    KILN_TRY(kiln_package_open_on(args->arena, args->pos[0], keys, where, &p, err));
    KILN_TRY(kiln_opened_choose_for(args->arena, &p, &o, err));
    kiln_tensor *out = kiln_array(args->arena, kiln_tensor, p.package.n_outputs);
    KILN_TRY(kiln_opened_run(args->arena, &p, &o, out, &result, err));
    KILN_TRY(kiln_outputs_write(args->arena, &p, out, dir, &path, err));
    return print(args, &p, &result, path, n_rounded, err);
}

const kiln_verb kiln_verb_run = {
    .name = "run",
    .summary = "run a package once on given inputs",
    .usage = "PACKAGE --input NAME=FILE.npy ... --output-dir DIR [options]",
    .example =
        "  kiln run model.kiln.tar.zst --input image=cat.npy --output-dir out\n"
        "  kiln run unpacked/ --random 1 --output-dir out --threads 2\n"
        "  kiln run model.kiln.tar.zst --random 1 --output-dir out --runner board\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .takes_oci = true,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
