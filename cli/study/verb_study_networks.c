/* kiln study neocpu, rivals and fusion: experiments on whole networks and pieces of them. */
#include "cli/study/verb_study.h"

#include <string.h>

#include "cli/options/db_option.h"
#include "cli/options/op_options.h"
#include "pipeline/devices/devices.h"
#include "pipeline/network/network.h"
#include "pipeline/study/study.h"

/* ---- what is asked for ----------------------------------------------------------- */

static kiln_status read_numbers(const kiln_cli_args *args, kiln_study_options *o,
                                kiln_err *err) {
    kiln_machine m;
    const char *threads = kiln_args_get(args, KILN_STUDY_THREAD_COUNT, NULL);
    kiln_machine_read(args->arena, &m);
    o->threads = m.cores < KILN_POOL_MAX_THREADS ? m.cores : KILN_POOL_MAX_THREADS;
    if (threads != NULL)
        KILN_TRY(kiln_cli_number(threads, "--threads", 1, KILN_POOL_MAX_THREADS,
                                 &o->threads, err));
    return kiln_cli_number(kiln_args_get(args, KILN_STUDY_ROUNDS, "30"), "--rounds", 1,
                           100000, &o->rounds, err);
}

/* All that read the format, unless it says otherwise: what is absent is a row that says
 * how to get it. NULL: all that run models. */
static kiln_status read_baselines(const kiln_cli_args *args, const kiln_profile *p,
                                  const char *format, kiln_study_options *o,
                                  kiln_err *err) {
    const char *list = kiln_args_get(args, KILN_STUDY_BASELINES, NULL);
    kiln_buf names;
    if (list != NULL && strcmp(list, "none") == 0)
        return KILN_OK;
    kiln_buf_init(&names, args->arena);
    for (int i = 0; list == NULL && kiln_baseline_at(i) != NULL; i++) {
        const kiln_baseline *b = kiln_baseline_at(i);
        if (!b->is_by_name &&
            (format != NULL ? kiln_baseline_reads(b, format) : b->open != NULL))
            kiln_buf_printf(&names, "%s%s", names.n > 0 ? "," : "", b->name);
    }
    KILN_TRY(kiln_baselines_choose(args->arena, list != NULL ? list : names.p, p,
                                   KILN_BASELINE_MODELS, &o->baseline, err));
    return kiln_baselines_dir(args->arena, &o->baselines_dir, err);
}

static kiln_status read_options(const kiln_cli_args *args, const char *format,
                                kiln_study_options *o, kiln_err *err) {
    kiln_arena *a = args->arena;
    const char *models = kiln_args_get(args, KILN_STUDY_MODELS, NULL);
    const char *parts = kiln_args_get(args, KILN_STUDY_PARTS, NULL);
    kiln_profile *profile = kiln_new(a, kiln_profile);
    kiln_choose_options *choose = kiln_new(a, kiln_choose_options);
    KILN_TRY(read_numbers(args, o, err));
    if (models != NULL)
        KILN_TRY(kiln_study_models(a, models, &o->model, err));
    if (parts != NULL)
        KILN_TRY(kiln_study_parts(parts, &o->parts, err));
    KILN_TRY(kiln_cli_cpu_profile(a, kiln_args_get(args, KILN_STUDY_PROFILE, NULL),
                                  profile, err));
    KILN_TRY(kiln_device_measures_here(profile, err));
    KILN_TRY(read_baselines(args, profile, format, o, err));
    KILN_TRY(kiln_cli_advice(args, KILN_STUDY_DB, KILN_STUDY_NO_READY,
                             KILN_STUDY_NO_PREDICT, o->threads, choose, NULL, err));
    o->profile = profile;
    o->choose = choose;
    return KILN_OK;
}

/* ---- what is given --------------------------------------------------------------- */

static kiln_status give_file(const kiln_cli_args *args, int option,
                             const kiln_doc_study *s,
                             void (*put)(kiln_buf *out, const kiln_doc_study *s),
                             kiln_err *err) {
    const char *path = kiln_args_get(args, option, NULL);
    kiln_buf text;
    if (path == NULL)
        return KILN_OK;
    kiln_buf_init(&text, args->arena);
    put(&text, s);
    return kiln_cli_output(path, kiln_buf_str(&text), err);
}

/* What was measured is given before it is said that it was interrupted. */
kiln_status kiln_cli_study_give(const kiln_cli_args *args, const kiln_doc_study *s,
                                int *exit_code, kiln_err *err) {
    kiln_cli_answer answer;
    size_t n = 0;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_record_write(&answer.json, &kiln_study_document, s);
    kiln_doc_study_text(&answer.text, s);
    KILN_TRY(give_file(args, KILN_STUDY_CSV, s, kiln_doc_study_csv, err));
    KILN_TRY(give_file(args, KILN_STUDY_HTML, s, kiln_doc_study_html, err));
    KILN_TRY(kiln_cli_answer_give(&answer, args, KILN_STUDY_JSON, err));
    for (size_t i = 0; i < s->part.n; i++)
        n += s->part.v[i].row.n;
    *exit_code = kiln_doc_study_is_good(s) ? KILN_EXIT_OK : KILN_EXIT_CHECK;
    if (s->is_interrupted)
        return kiln_fail(err, KILN_ERR_INTERRUPTED,
                         "interrupted; the %zu rows above were measured", n);
    return KILN_OK;
}

typedef kiln_status experiment(kiln_arena *a, const kiln_study_options *o,
                               kiln_doc_study *out, kiln_err *err);

static kiln_status study(const kiln_cli_args *args, experiment *of, const char *format,
                         int *exit_code, kiln_err *err) {
    kiln_study_options o = {.parts = 0};
    kiln_doc_study s;
    KILN_TRY(read_options(args, format, &o, err));
    kiln_interrupt_catch();
    KILN_TRY(of(args->arena, &o, &s, err));
    return kiln_cli_study_give(args, &s, exit_code, err);
}

kiln_status kiln_cli_study_neocpu(const kiln_cli_args *args, int *exit_code,
                                  kiln_err *err) {
    return study(args, kiln_study_neocpu, "onnx", exit_code, err);
}

kiln_status kiln_cli_study_rivals(const kiln_cli_args *args, int *exit_code,
                                  kiln_err *err) {
    return study(args, kiln_study_rivals, NULL, exit_code, err);
}

kiln_status kiln_cli_study_fusion(const kiln_cli_args *args, int *exit_code,
                                  kiln_err *err) {
    return study(args, kiln_study_fusion, "onnx", exit_code, err);
}
