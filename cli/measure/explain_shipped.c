/* kiln explain PACKAGE|MODEL: what ships, step by step. */
#include "cli/options/db_option.h"
#include "cli/measure/verb_explain.h"
#include "cli/options/op_options.h"
#include "pipeline/package/package_shipped.h"

#include <stdint.h>

/* What a package has decided already, or what has no meaning for whole networks. */
static kiln_status refuse(const kiln_cli_args *args, const kiln_option *option,
                          const int *which, size_t n, const char *why, kiln_err *err) {
    for (size_t i = 0; i < n; i++)
        if (kiln_args_has(args, which[i]))
            return kiln_fail(err, KILN_ERR_ARG, "option '%s' %s", option[which[i]].name,
                             why);
    return KILN_OK;
}

static kiln_status explain_package(const kiln_cli_args *args, const kiln_option *option,
                                   kiln_shipped *out, kiln_err *err) {
    static const int of_models[] = {OPT_PROFILE,  OPT_CONFIG_FILE, OPT_THREADS,
                                    OPT_NUMERICS, OPT_SHAPE,       OPT_SIGNATURE,
                                    OPT_STATE,    OPT_ROUNDING};
    kiln_arena *a = args->arena;
    const char *model = kiln_args_get(args, OPT_MODEL, NULL);
    const size_t n = args->n_value[OPT_BIND];
    kiln_value_binding *value = kiln_array(a, kiln_value_binding, n);
    KILN_TRY(refuse(args, option, of_models, sizeof of_models / sizeof of_models[0],
                    "is for models: a package has its own", err));
    KILN_TRY(kiln_shipped_of_package(a, args->pos[0], out, err));
    for (size_t i = 0; i < n; i++)
        KILN_TRY(kiln_cli_package_binding(a, &out->facts, args->value[OPT_BIND][i],
                                          &value[i], err));
    const kiln_fixed_inputs fixed = {value, n};
    return model == NULL ? KILN_OK : kiln_shipped_add_model(a, out, model, &fixed, err);
}

static kiln_status explain_model(const kiln_cli_args *args, const kiln_option *option,
                                 kiln_shipped *out, kiln_err *err) {
    static const int of_packages[] = {OPT_MODEL};
    static const kiln_cli_import_at at = {OPT_SHAPE, OPT_BIND, OPT_SIGNATURE, OPT_STATE,
                                          OPT_ROUNDING};
    kiln_arena *a = args->arena;
    kiln_profile *profile = kiln_new(a, kiln_profile);
    kiln_import_options import;
    kiln_choose_options choose;
    kiln_source source;
    int threads = 1;
    KILN_TRY(refuse(args, option, of_packages, 1, "is for packages", err));
    KILN_TRY(kiln_cli_profile(a, kiln_args_get(args, OPT_PROFILE, NULL), profile, err));
    KILN_TRY(kiln_cli_numerics(args, OPT_NUMERICS, profile, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_THREADS, "1"), "--threads", 1,
                             KILN_POOL_MAX_THREADS, &threads, err));
    KILN_TRY(kiln_cli_choose(a, NULL, kiln_args_get(args, OPT_CONFIG_FILE, NULL),
                             &choose, err));
    KILN_TRY(kiln_cli_advice(args, OPT_DB, OPT_NO_READY, OPT_NO_PREDICT, threads,
                             &choose, NULL, err));
    kiln_interrupt_catch();
    KILN_TRY(kiln_cli_import_options(args, args->pos[0], &at, &import, err));
    KILN_TRY(kiln_source_read(a, args->pos[0], &import, &source, err));
    return kiln_shipped_of_model(a, &source, profile, &choose, threads, out, err);
}

/* The user's records, then those that come with kiln. */
static kiln_status ask_records(const kiln_cli_args *args, kiln_shipped *s,
                               kiln_err *err) {
    kiln_choose_options unused = {.tmpl = NULL};
    const kiln_tune_advice *known = NULL;
    const int threads = s->facts.threads > 0 ? s->facts.threads : 1;
    KILN_TRY(kiln_cli_advice(args, OPT_DB, OPT_NO_READY, OPT_NO_PREDICT, threads,
                             &unused, &known, err));
    if (known->db != NULL)
        KILN_TRY(kiln_shipped_ask_db(args->arena, s, known->db, "database", err));
    return known->ready == NULL ? KILN_OK
                                : kiln_shipped_ask_db(args->arena, s, known->ready,
                                                      "ready records", err);
}

kiln_status kiln_cli_explain_shipped(const kiln_cli_args *args,
                                     const kiln_option *option, kiln_err *err) {
    static const int of_operators[] = {OPT_STAGE, OPT_KNOBS, OPT_TEMPLATE,
                                       OPT_SCHEDULE};
    const char *results = kiln_args_get(args, OPT_RESULTS, NULL);
    const char *word = kiln_args_get(args, OPT_STEP, NULL);
    size_t step = SIZE_MAX;
    kiln_shipped s;
    kiln_cli_answer answer;
    KILN_TRY(
        refuse(args, option, of_operators, sizeof of_operators / sizeof of_operators[0],
               "is for operators (--op, --ops); --step shows all of one step", err));
    KILN_TRY(kiln_cli_is_package(args->pos[0]) ? explain_package(args, option, &s, err)
                                               : explain_model(args, option, &s, err));
    KILN_TRY(ask_records(args, &s, err));
    if (results != NULL)
        KILN_TRY(kiln_shipped_ask_results(args->arena, &s, results, err));
    if (word != NULL)
        KILN_TRY(kiln_shipped_find(&s, word, &step, err));
    kiln_cli_answer_init(&answer, args->arena);
    KILN_TRY(kiln_shipped_json(&answer.w, &s, step, err));
    if (word == NULL)
        kiln_shipped_text(&answer.text, &s);
    else
        KILN_TRY(kiln_shipped_step_text(&answer.text, &s, step, err));
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}
