/* kiln study autotvm: how many trials searches and cost models need, on what was measured
 * once. */
#include "cli/study/verb_study.h"

#include <inttypes.h>

#include "cli/options/db_option.h"
#include "cli/options/op_options.h"
#include "pipeline/devices/devices.h"
#include "pipeline/tune/corpus.h"
#include "pipeline/tune/estimated.h"

static void show(void *user, const kiln_tune_state *s) {
    (void)user;
    kiln_progress_step("collecting", "trials", (double)s->n_trials, (double)s->n_wanted,
                       s->work);
}

/* With --works, lines of other works stay as the file has them. */
static kiln_status write_corpus(const kiln_cli_args *args, const kiln_tune_works *works,
                                const kiln_corpus_options *o, const char *path,
                                kiln_err *err) {
    enum { MAX_BYTES = 64 << 20 };
    kiln_buf text, merged;
    kiln_str old = {.n = 0};
    kiln_buf_init(&text, args->arena);
    kiln_buf_init(&merged, args->arena);
    KILN_TRY(kiln_corpus_put(&text, args->arena, works, o, err));
    if (kiln_args_has(args, KILN_STUDY_WORKS) && kiln_file_exists(path))
        KILN_TRY(kiln_file_map(args->arena, path, MAX_BYTES, &old, err));
    KILN_TRY(kiln_corpus_merge(&merged, args->arena, old, kiln_buf_str(&text), err));
    return kiln_file_write(path, merged.p, merged.n, err);
}

static kiln_status collect(const kiln_cli_args *args, const char **corpus,
                           kiln_err *err) {
    kiln_corpus_options o = {.tune = {.threads = 1, .seed = 1, .progress = show}};
    kiln_profile profile;
    kiln_tune_works works;
    const char *path = NULL;
    int64_t n_new = 0;
    KILN_TRY(kiln_cli_number(kiln_args_get(args, KILN_STUDY_CONFIGURATIONS, "384"),
                             "--configurations", 16, 65536, &o.configurations, err));
    KILN_TRY(kiln_cli_seconds(args, KILN_STUDY_TIME, "--time-limit", &o.seconds, err));
    KILN_TRY(kiln_cli_cpu_profile(
        args->arena, kiln_args_get(args, KILN_STUDY_PROFILE, NULL), &profile, err));
    KILN_TRY(kiln_device_measures_here(&profile, err));
    KILN_TRY(kiln_cli_data_file(args, KILN_STUDY_DB, "autotvm.db", &path, err));
    KILN_TRY(
        kiln_cli_data_file(args, KILN_STUDY_CORPUS, KILN_CORPUS_FILE, corpus, err));
    KILN_TRY(kiln_corpus_works(args->arena, &works, err));
    KILN_TRY(kiln_corpus_select(
        args->arena, kiln_args_get(args, KILN_STUDY_WORKS, NULL), &works, err));
    o.tune.profile = &profile;
    KILN_TRY(kiln_db_open(args->arena, path, NULL, &o.tune.db, err));
    kiln_interrupt_catch();
    kiln_status st = kiln_args_has(args, KILN_STUDY_ANEW)
                         ? kiln_corpus_forget(args->arena, &works, &o, err)
                         : KILN_OK;
    if (st == KILN_OK)
        st = kiln_corpus_collect(args->arena, &works, &o, &n_new, err);
    if (st == KILN_OK)
        st = write_corpus(args, &works, &o, *corpus, err);
    kiln_db_close(o.tune.db);
    if (st == KILN_OK)
        kiln_cli_say("%" PRId64 " new trials in '%s'; the corpus is '%s'\n", n_new,
                     path, *corpus);
    return st;
}

/* Of the profile that ships: the same on every machine. */
static kiln_status study_whole(const kiln_cli_args *args, kiln_err *err) {
    kiln_tune_works works;
    kiln_profile profile;
    kiln_estimated e;
    kiln_buf out;
    kiln_estimated_options o = {.works = &works};
    KILN_TRY(kiln_cli_number(kiln_args_get(args, KILN_STUDY_SEEDS, "3"), "--seeds", 1,
                             1000, &o.n_seeds, err));
    KILN_TRY(kiln_profile_find(args->arena, "x86-avx512", &profile, err));
    KILN_TRY(kiln_corpus_works(args->arena, &works, err));
    KILN_TRY(kiln_corpus_select(
        args->arena, kiln_args_get(args, KILN_STUDY_WORKS, NULL), &works, err));
    kiln_interrupt_catch();
    KILN_TRY(kiln_estimated_compare(args->arena, &profile, &o, &e, err));
    kiln_buf_init(&out, args->arena);
    kiln_estimated_text(&out, &e);
    return kiln_cli_output(NULL, kiln_buf_str(&out), err);
}

static kiln_status give_file(const kiln_cli_args *args, int option, const kiln_study *s,
                             void (*put)(kiln_buf *out, const kiln_study *s),
                             kiln_err *err) {
    const char *path = kiln_args_get(args, option, NULL);
    kiln_buf text;
    if (path == NULL)
        return KILN_OK;
    kiln_buf_init(&text, args->arena);
    put(&text, s);
    return kiln_cli_output(path, kiln_buf_str(&text), err);
}

static kiln_status study(const kiln_cli_args *args, const char *path, kiln_err *err) {
    enum { MAX_BYTES = 64 << 20 };
    kiln_corpus corpus;
    kiln_study s;
    kiln_str text;
    kiln_buf out;
    char *found = NULL;
    int n_seeds = 5;
    KILN_TRY(kiln_cli_number(kiln_args_get(args, KILN_STUDY_SEEDS, "5"), "--seeds", 1,
                             1000, &n_seeds, err));
    if (path == NULL) {
        KILN_TRY(kiln_data_find(args->arena, KILN_CORPUS_FILE, &found, err));
        path = found;
    }
    KILN_TRY(kiln_file_map(args->arena, path, MAX_BYTES, &text, err));
    KILN_TRY(kiln_corpus_read(args->arena, text, path, &corpus, err));
    KILN_TRY(kiln_corpus_compare(args->arena, &corpus, n_seeds, NULL, &s, err));
    kiln_buf_init(&out, args->arena);
    kiln_study_text(&out, &s);
    KILN_TRY(give_file(args, KILN_STUDY_CSV, &s, kiln_study_csv, err));
    KILN_TRY(give_file(args, KILN_STUDY_HTML, &s, kiln_study_html, err));
    return kiln_cli_output(NULL, kiln_buf_str(&out), err);
}

/* What only a collection reads: without it, it would say nothing. */
static kiln_status refuse_strays(const kiln_cli_args *args, kiln_err *err) {
    static const struct {
        int option;
        const char *name, *value;
        bool is_of_whole_spaces;
    } of_collect[] = {{KILN_STUDY_WORKS, "--works", " C2,C6", true},
                      {KILN_STUDY_ANEW, "--anew", "", false},
                      {KILN_STUDY_TIME, "--time-limit", " 15m", false},
                      {KILN_STUDY_CONFIGURATIONS, "--configurations", " 384", false},
                      {KILN_STUDY_PROFILE, "--profile", " x86-avx2", false},
                      {KILN_STUDY_DB, "--db", " FILE", false}};
    static const struct {
        int option;
        const char *name;
    } of_replays[] = {{KILN_STUDY_CSV, "--csv"}, {KILN_STUDY_HTML, "--html"}};
    const bool is_whole = kiln_args_has(args, KILN_STUDY_WHOLE);
    for (size_t i = 0; i < sizeof of_collect / sizeof of_collect[0]; i++)
        if (kiln_args_has(args, of_collect[i].option) &&
            !(is_whole && of_collect[i].is_of_whole_spaces))
            return kiln_fail(err, KILN_ERR_ARG,
                             "%s is of --collect, which measures: kiln study autotvm "
                             "--collect %s%s; a replay is of the whole corpus",
                             of_collect[i].name, of_collect[i].name,
                             of_collect[i].value);
    for (size_t i = 0; is_whole && i < sizeof of_replays / sizeof of_replays[0]; i++)
        if (kiln_args_has(args, of_replays[i].option))
            return kiln_fail(err, KILN_ERR_ARG,
                             "--whole-spaces has no %s: it is of the corpus",
                             of_replays[i].name);
    return KILN_OK;
}

kiln_status kiln_cli_study_autotvm(const kiln_cli_args *args, int *exit_code,
                                   kiln_err *err) {
    const char *corpus = kiln_args_get(args, KILN_STUDY_CORPUS, NULL);
    (void)exit_code;
    if (!kiln_args_has(args, KILN_STUDY_COLLECT))
        KILN_TRY(refuse_strays(args, err));
    if (kiln_args_has(args, KILN_STUDY_WHOLE)) {
        if (kiln_args_has(args, KILN_STUDY_COLLECT) || corpus != NULL)
            return kiln_fail(err, KILN_ERR_ARG, "--whole-spaces goes without a corpus");
        return study_whole(args, err);
    }
    if (kiln_args_has(args, KILN_STUDY_COLLECT))
        KILN_TRY(collect(args, &corpus, err));
    if (kiln_interrupted())
        return kiln_fail(
            err, KILN_ERR_INTERRUPTED,
            "interrupted; what was measured is on record, the same command "
            "goes on");
    return study(args, corpus, err);
}
