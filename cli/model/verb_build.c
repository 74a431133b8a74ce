/* kiln build: a model becomes an archive that runs by itself, one for each profile; or one
 * for all of them, and for several shapes. */
#include "cli/options/db_option.h"
#include "cli/options/op_options.h"
#include "cli/model/verb_reduce.h"
#include "cli/options/shape_sets.h"
#include "cli/options/sign_option.h"
#include "cli/options/source_option.h"
#include "packager/oci.h"
#include "pipeline/machine/machine.h"
#include "pipeline/package/package.h"

#include <string.h>

enum {
    OPT_PROFILE,
    OPT_OUT,
    OPT_NAME,
    OPT_VERSION,
    OPT_LICENCE,
    OPT_NUMERICS,
    OPT_CONFIG_FILE,
    OPT_DB,
    OPT_NO_READY,
    OPT_NO_PREDICT,
    OPT_THREADS,
    OPT_REQUIRE_TUNED,
    OPT_NO_VERIFY,
    OPT_PACK,
    OPT_PLACE,
    OPT_LAYOUTS,
    OPT_OCI,
    OPT_SIGN,
    OPT_PASSWORD,
    OPT_PROVENANCE,
    OPT_SHAPE,
    OPT_BIND,
    OPT_SIGNATURE,
    OPT_STATE,
    OPT_ROUNDING,
    OPT_NO_REDUCE,
    OPT_FORMAT,
    OPT_PARAMS,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_PROFILE] = {"--profile", "P",
                     "make code for this profile: a name, or a JSON file", true},
    [OPT_OUT] = {"-o", "FILE",
                 "the archive, of all profiles, or a folder for one of each "
                 "(MODEL-VERSION-PROFILE.kiln.tar.zst, here)",
                 false},
    [OPT_NAME] = {"--name", "NAME",
                  "the model's name in the archive (its file's, without the ending)",
                  false},
    [OPT_VERSION] = {"--version", "V", "version of the model (1)", false},
    [OPT_LICENCE] = {"--licence", "SPDX",
                     "licence of the model, such as MIT (nothing is asserted)", false},
    [OPT_NUMERICS] = KILN_NUMERICS_OPTION,
    [OPT_CONFIG_FILE] = {"--config-file", "FILE",
                         "JSON list of {\"op\", \"template\", \"config\"}", false},
    [OPT_DB] = KILN_DB_OPTION,
    [OPT_NO_READY] = KILN_NO_READY_OPTION,
    [OPT_NO_PREDICT] = KILN_NO_PREDICT_OPTION,
    [OPT_THREADS] = {"--threads", "N",
                     "records of kernels tuned for so many threads (1)", false},
    [OPT_REQUIRE_TUNED] = {"--require-tuned", "SHARE",
                           "fail where less of the multiply-adds is tuned: 95%", false},
    [OPT_NO_VERIFY] = {"--no-verify", NULL,
                       "do not run the package to prove it; it says so, and is not "
                       "accepted",
                       false},
    [OPT_PACK] = {"--pack", "WHEN",
                  "pack parameters as kernels read them: build, in the archive, or "
                  "open, each time a model is opened, and the archive is as small as "
                  "the model (build)",
                  false},
    [OPT_LAYOUTS] = KILN_LAYOUTS_OPTION,
    [OPT_PLACE] =
        {"--place", "OP=DEVICE",
         "give steps of this operator (or all, or random:SEED) to another "
         "device of the runtime, such as host2; the last one that fits counts",
         true},
    [OPT_OCI] = {"--oci", "DIR",
                 "also into this OCI image layout, under the archive's name as tag: "
                 "archive, signature, provenance, SBOM",
                 false},
    [OPT_SIGN] = {"--sign", "NAME.key",
                  "sign the archive and its provenance by this secret key", false},
    [OPT_PASSWORD] = KILN_PASSWORD_OPTION,
    [OPT_PROVENANCE] = {"--provenance", NULL,
                        "write what it was made of beside it, as --sign does too: "
                        "ARCHIVE.intoto.json",
                        false},
    [OPT_SHAPE] = {"--shape", "NAME:DIMS",
                   "bind an input's dynamic dimensions; several times for one input: "
                   "one archive for all of these shapes",
                   true},
    [OPT_BIND] = {"--bind", "NAME=VALUE", "fix an input: a number, FILE.npy or FILE.pb",
                  true},
    [OPT_SIGNATURE] = KILN_SIGNATURE_OPTION,
    [OPT_STATE] = KILN_STATE_OPTION,
    [OPT_ROUNDING] = KILN_ROUNDING_OPTION,
    [OPT_NO_REDUCE] = {"--no-reduce", NULL,
                       "where kiln finds itself wrong, look for no small example",
                       false},
    [OPT_FORMAT] = KILN_FORMAT_OPTION,
    [OPT_PARAMS] = KILN_PARAMS_OPTION,
    [OPT_JSON] = {"--json", "FILE",
                  "write what was built as JSON ('-': standard output)", false},
};

static const kiln_cli_import_at import_at = {OPT_SHAPE, OPT_BIND, OPT_SIGNATURE,
                                             OPT_STATE, OPT_ROUNDING};

static kiln_status read_placement(const kiln_cli_args *args, kiln_placement *placement,
                                  kiln_build_options *o, kiln_err *err) {
    o->place = args->value[OPT_PLACE];
    o->n_places = args->n_value[OPT_PLACE];
    if (o->n_places == 0)
        return KILN_OK;
    o->placement = placement;
    const kiln_status st =
        kiln_place_by_rules(args->arena, o->place, o->n_places, placement, err);
    if (st != KILN_OK)
        kiln_note(err, "reading --place");
    return st;
}

/* What is asked of what lies beside an archive. */
typedef struct beside {
    const kiln_tune_advice *advice;
    const kiln_secret_key *key; /* NULL: nothing is signed */
} beside;

/* What only archives have. */
static const int of_archives[] = {OPT_VERSION, OPT_LICENCE,    OPT_REQUIRE_TUNED,
                                  OPT_PACK,    OPT_PLACE,      OPT_OCI,
                                  OPT_SIGN,    OPT_PROVENANCE, OPT_JSON};

static kiln_status read_format(const kiln_cli_args *args, kiln_cli_source *out,
                               kiln_err *err) {
    return kiln_cli_source_options(
        args, OPT_FORMAT, OPT_PARAMS, OPT_OUT, options, of_archives,
        sizeof of_archives / sizeof of_archives[0], out, err);
}

/* Every profile that was asked for, before anything is built. */
static kiln_status read_profiles(const kiln_cli_args *args, kiln_profile **out,
                                 size_t *n, kiln_err *err) {
    *n = args->n_value[OPT_PROFILE];
    if (*n == 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "say for which hardware, by --profile: 'native' is this "
                         "machine; see kiln profile list");
    *out = kiln_array(args->arena, kiln_profile, *n);
    for (size_t i = 0; i < *n; i++) {
        KILN_TRY(kiln_machine_find(args->arena, args->value[OPT_PROFILE][i], &(*out)[i],
                                   err));
        KILN_TRY(kiln_cli_numerics(args, OPT_NUMERICS, &(*out)[i], err));
    }
    return KILN_OK;
}

static kiln_status read_output(const kiln_cli_args *args, kiln_build_options *o,
                               kiln_err *err) {
    const char *out = kiln_args_get(args, OPT_OUT, NULL);
    if (out == NULL)
        return KILN_OK;
    if (kiln_dir_exists(out) || kiln_str_ends(kiln_str_from(out), "/")) {
        o->folder = out;
        return kiln_dir_make(out, err);
    }
    o->path = out;
    return KILN_OK;
}

/* "95%", "95": of a hundred. */
static kiln_status read_share(const kiln_cli_args *args, double *out, kiln_err *err) {
    const char *text = kiln_args_get(args, OPT_REQUIRE_TUNED, NULL);
    kiln_str s = kiln_str_from(text);
    if (text == NULL)
        return KILN_OK;
    if (kiln_str_ends(s, "%"))
        s.n--;
    if (!kiln_parse_f64(s, out) || !(*out >= 0) || *out > 100)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--require-tuned must be a share from 0%% to 100%%, is '%s'",
                         kiln_str_printable(args->arena, kiln_str_from(text), 64));
    *out /= 100;
    return KILN_OK;
}

static kiln_status read_pack(const kiln_cli_args *args, bool *at_open, kiln_err *err) {
    const char *when = kiln_args_get(args, OPT_PACK, "build");
    *at_open = strcmp(when, "open") == 0;
    return *at_open || strcmp(when, "build") == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_ARG, "--pack must be build or open, is '%s'",
                           kiln_str_printable(args->arena, kiln_str_from(when), 64));
}

static bool is_tuned_enough(const kiln_build *b, double share) {
    KILN_ASSERT(share >= 0 && share <= 1, "a share of %g must be tuned", share);
    int64_t all = 0;
    for (int c = 0; c < KILN_N_COVERAGE; c++)
        all += b->ledger.all.muladds[c];
    return (double)b->ledger.all.muladds[KILN_COVERED_TUNED] >= share * (double)all;
}

/* By what, and what it is worth. */
static void put_predicted(const kiln_tune_advice *advice, int n, kiln_buf *out) {
    if (advice->transfer == NULL)
        return;
    kiln_buf_printf(out, "predicted for %d of the kernels, in %.0f ms: ", n,
                    (double)advice->predicting_ns * 1e-6);
    kiln_tune_transfer_text(out, advice->transfer);
}

/* The tuning that this build lacked: with all that makes it the same work. */
static void put_remedy(const kiln_cli_args *args, const char *profile, kiln_buf *out) {
    static const int same[] = {OPT_THREADS, OPT_NUMERICS, OPT_SHAPE,
                               OPT_BIND,    OPT_DB,       OPT_NO_READY};
    kiln_buf command;
    kiln_buf_init(&command, args->arena);
    kiln_buf_puts(&command, "kiln tune");
    kiln_buf_put_word(&command, args->pos[0]);
    kiln_buf_puts(&command, " --profile");
    kiln_buf_put_word(&command, profile);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        for (size_t k = 0; k < args->n_value[same[i]]; k++) {
            kiln_buf_put_word(&command, options[same[i]].name);
            if (options[same[i]].metavar != NULL)
                kiln_buf_put_word(&command, args->value[same[i]][k]);
        }
    kiln_buf_printf(out, "too little is tuned for '%s': %s\n", profile, command.p);
}

/* Files are often called the same ("model.onnx"); archives are compared by the model's
 * name. */
static kiln_status read_source(const kiln_cli_args *args,
                               const kiln_import_options *import, kiln_source *out,
                               kiln_err *err) {
    const char *name = kiln_args_get(args, OPT_NAME, NULL);
    if (name != NULL && name[0] == '\0')
        return kiln_fail(err, KILN_ERR_ARG, "--name must not be empty");
    KILN_TRY(kiln_source_read(args->arena, args->pos[0], import, out, err));
    if (name != NULL) {
        out->name = name;
        out->graph->name = name;
    }
    return KILN_OK;
}

/* The archive is not made; a small graph for which the same is wrong takes its place:
 * NAME.reproducer.kgraph beside where it would have been. */
static void leave_reproducer(const kiln_cli_args *args, const kiln_build_options *o,
                             const kiln_source *source, const char *profile) {
    static const int same[] = {OPT_NUMERICS, OPT_CONFIG_FILE, OPT_DB,
                               OPT_NO_READY, OPT_NO_PREDICT,  OPT_THREADS};
    enum { SECONDS = 30 };
    kiln_arena *a = args->arena;
    const char *folder = o->folder != NULL ? o->folder
                         : o->path != NULL ? kiln_path_dir(a, o->path)
                                           : ".";
    const char *name = kiln_format(a, "%s.reproducer.kgraph", source->name);
    const kiln_reduce_to to = {.path = kiln_path_join(a, folder, name),
                               .profile = profile,
                               .same = same,
                               .n_same = sizeof same / sizeof same[0],
                               .seconds = SECONDS};
    kiln_cli_leave_reproducer(args, options, source->imported, &to);
}

static kiln_status sign(const kiln_build *b, const kiln_secret_key *key, kiln_buf *text,
                        kiln_err *err) {
    char id[KILN_KEY_ID_TEXT];
    KILN_TRY(kiln_archive_sign(key, b->path, NULL, err));
    kiln_key_id_text(key->id, id);
    kiln_buf_printf(text, "signature: %s" KILN_SIGNATURE_ENDING " by key %s\n", b->path,
                    id);
    return KILN_OK;
}

/* Provenance and signature, beside an archive that is there; of variants, for several
 * profiles. */
static kiln_status put_beside(const kiln_cli_args *args, const kiln_source *source,
                              const kiln_profile *profile, size_t n_profiles,
                              const kiln_build_options *o, const kiln_build *b,
                              const beside *with, kiln_buf *text, kiln_err *err) {
    const kiln_provenance_words words = {
        .model = args->pos[0],
        .shape = args->value[OPT_SHAPE],
        .n_shapes = args->n_value[OPT_SHAPE],
        .bind = args->value[OPT_BIND],
        .signature = kiln_args_get(args, OPT_SIGNATURE, NULL),
        .has_state = kiln_args_has(args, OPT_STATE),
        .as_reference = o->import->as_reference,
        .config = kiln_args_get(args, OPT_CONFIG_FILE, NULL),
        .advice = with->advice,
        .no_ready = kiln_args_has(args, OPT_NO_READY),
        .no_predict = kiln_args_has(args, OPT_NO_PREDICT),
        .more = profile + 1,
        .n_more = n_profiles - 1};
    kiln_provenance p;
    const char *path = NULL;
    if (with->key == NULL && !kiln_args_has(args, OPT_PROVENANCE))
        return KILN_OK;
    KILN_TRY(kiln_provenance_of(args->arena, source, profile, o, b, &words, &p, err));
    KILN_TRY(kiln_provenance_save(args->arena, &p, b->path, &path, err));
    kiln_buf_printf(text, "provenance: %s\n", path);
    return with->key != NULL ? sign(b, with->key, text, err) : KILN_OK;
}

/* With what lies beside the archive by now. */
static kiln_status put_oci(const kiln_cli_args *args, const kiln_build *b,
                           kiln_buf *text, kiln_err *err) {
    const char *layout = kiln_args_get(args, OPT_OCI, NULL);
    kiln_oci o;
    if (layout == NULL)
        return KILN_OK;
    KILN_TRY(kiln_oci_write(b->path, layout, NULL, &o, err));
    kiln_buf_printf(text,
                    "oci: " KILN_OCI_PREFIX "%s:%s, %d layer%s, manifest sha256:%s\n",
                    layout, o.tag, o.n_layers, kiln_plural(o.n_layers), o.digest);
    return KILN_OK;
}

/* A model as one set of --shape has it. */
typedef struct shaped {
    kiln_cli_args args; /* with its own --shape alone */
    kiln_import_options import;
    kiln_source source;
    kiln_expectation expectation;
} shaped;

static kiln_status read_shaped(const kiln_cli_args *args, uint64_t seed, shaped *s,
                               kiln_err *err) {
    s->args = *args;
    KILN_TRY(kiln_cli_import_options(args, args->pos[0], &import_at, &s->import, err));
    KILN_TRY(read_source(args, &s->import, &s->source, err));
    return kiln_expectation_of(args->arena, &s->source, seed, &s->expectation, err);
}

/* What is built, and what there is to say. */
typedef struct building {
    const kiln_cli_args *args; /* with all --shape */
    const shaped *shape;
    size_t n_shapes;
    const kiln_profile *profile;
    const char *const *profile_word; /* as they were given, in the profiles' order */
    size_t n_profiles;
    kiln_build_options o;
    const beside *with;
    double share; /* that must be tuned */
    kiln_cli_answer answer;
    bool is_short; /* of what must be tuned */
} building;

static kiln_status build_one(building *x, const shaped *s, size_t profile,
                             const kiln_build_options *o, kiln_build *b,
                             kiln_err *err) {
    const int n_ready = x->with->advice->n_ready;
    const int n_predicted = x->with->advice->n_predicted;
    const kiln_status st = kiln_package_build(
        x->args->arena, &s->source, &s->expectation, &x->profile[profile], o, b, err);
    if (st == KILN_ERR_BUG && !kiln_args_has(x->args, OPT_NO_REDUCE))
        leave_reproducer(&s->args, &x->o, &s->source, x->profile_word[profile]);
    if (st != KILN_OK)
        return st;
    b->n_ready = x->with->advice->n_ready - n_ready;
    b->n_predicted = x->with->advice->n_predicted - n_predicted;
    KILN_ASSERT(b->n_ready >= 0 && b->n_predicted >= 0,
                "records used by '%s': %d ready, %d predicted",
                x->profile[profile].name, b->n_ready, b->n_predicted);
    return KILN_OK;
}

static void tell_one(building *x, const kiln_build *b) {
    kiln_buf_puts(&x->answer.text, x->answer.text.n > 0 ? "\n" : "");
    kiln_build_text(&x->answer.text, b);
    put_predicted(x->with->advice, b->n_predicted, &x->answer.text);
    kiln_build_put(&x->answer.w, b);
}

static void judge_one(building *x, const shaped *s, size_t profile,
                      const kiln_build *b) {
    if (is_tuned_enough(b, x->share))
        return;
    x->is_short = true;
    put_remedy(&s->args, x->profile_word[profile], &x->answer.text);
}

/* An archive for each profile. */
static kiln_status build_each(building *x, kiln_err *err) {
    for (size_t i = 0; i < x->n_profiles; i++) {
        kiln_build_options o = x->o;
        kiln_build b;
        o.import = &x->shape->import;
        KILN_TRY(build_one(x, x->shape, i, &o, &b, err));
        tell_one(x, &b);
        KILN_TRY(put_beside(x->args, &x->shape->source, &x->profile[i], 1, &o, &b,
                            x->with, &x->answer.text, err));
        KILN_TRY(put_oci(x->args, &b, &x->answer.text, err));
        judge_one(x, x->shape, i, &b);
    }
    return KILN_OK;
}

/* Of the first profile the statement tells what tuning said, of all its shapes. */
static kiln_status put_beside_all(building *x, size_t first, size_t n,
                                  const kiln_build *b, kiln_err *err) {
    kiln_build_options o = x->o;
    kiln_build all = b[0];
    o.import = &x->shape->import;
    for (size_t i = 1; i < x->n_shapes; i++)
        all.n_ready += b[i].n_ready;
    return put_beside(x->args, &x->shape->source, &x->profile[first], n, &o, &all,
                      x->with, &x->answer.text, err);
}

/* One archive for these profiles and all shapes. */
static kiln_status build_joined(building *x, size_t first, size_t n, kiln_err *err) {
    KILN_ASSERT(n > 0 && first + n <= x->n_profiles && x->n_shapes > 0,
                "profiles %zu to %zu of %zu", first, first + n, x->n_profiles);
    kiln_arena *a = x->args->arena;
    kiln_build *b = kiln_array(a, kiln_build, n * x->n_shapes);
    const char *dir = NULL;
    KILN_TRY(kiln_dir_temp(a, &dir, err));
    for (size_t i = 0; i < n * x->n_shapes; i++) {
        const shaped *s = &x->shape[i % x->n_shapes];
        kiln_build_options o = x->o;
        o.import = &s->import;
        o.folder = NULL;
        o.path = kiln_path_join(a, dir, kiln_format(a, "%zu.kiln.tar.zst", i));
        KILN_TRY(build_one(x, s, first + i / x->n_shapes, &o, &b[i], err));
    }
    KILN_TRY(kiln_package_join(a, b, n * x->n_shapes, &x->o, err));
    for (size_t i = 0; i < n * x->n_shapes; i++)
        tell_one(x, &b[i]);
    KILN_TRY(put_beside_all(x, first, n, b, err));
    KILN_TRY(put_oci(x->args, b, &x->answer.text, err));
    for (size_t i = 0; i < n * x->n_shapes; i++)
        judge_one(x, &x->shape[i % x->n_shapes], first + i / x->n_shapes, &b[i]);
    return KILN_OK;
}

/* Several profiles in one archive where -o names one; several shapes always. */
static kiln_status build_archives(building *x, kiln_err *err) {
    const bool is_one = x->o.path != NULL;
    if (x->n_shapes == 1 && (x->n_profiles == 1 || !is_one))
        return build_each(x, err);
    if (is_one)
        return build_joined(x, 0, x->n_profiles, err);
    for (size_t i = 0; i < x->n_profiles; i++)
        KILN_TRY(build_joined(x, i, 1, err));
    return KILN_OK;
}

/* The best first, so that a machine takes the first that it runs. */
static kiln_status order_profiles(building *x, kiln_profile *profile, kiln_err *err) {
    const char **word = kiln_array(x->args->arena, const char *, x->n_profiles);
    kiln_profile *given =
        kiln_arena_dup(x->args->arena, profile, x->n_profiles * sizeof *profile);
    kiln_profiles_best_first(profile, x->n_profiles);
    for (size_t i = 0; i < x->n_profiles; i++)
        for (size_t k = 0; k < x->n_profiles; k++) {
            if (k != i && strcmp(profile[i].name, profile[k].name) == 0)
                return kiln_fail(err, KILN_ERR_ARG,
                                 "profile '%s' is given twice for one archive",
                                 profile[i].name);
            if (strcmp(profile[i].name, given[k].name) == 0)
                word[i] = x->args->value[OPT_PROFILE][k];
        }
    for (size_t i = 0; i < x->n_profiles; i++)
        KILN_ASSERT(word[i] != NULL, "nobody asked for '%s'", profile[i].name);
    x->profile_word = word;
    return KILN_OK;
}

static kiln_status read_models(building *x, const kiln_cli_source *as, kiln_err *err) {
    kiln_cli_args *set = NULL;
    KILN_TRY(
        kiln_cli_shape_sets(x->args, OPT_SHAPE, N_OPTIONS, &set, &x->n_shapes, err));
    if (as->is_source && x->n_shapes > 1)
        return kiln_fail(err, KILN_ERR_ARG, "C source is for one shape of each input");
    shaped *shape = kiln_array(x->args->arena, shaped, x->n_shapes);
    for (size_t i = 0; i < x->n_shapes; i++)
        KILN_TRY(read_shaped(&set[i], x->o.seed, &shape[i], err));
    x->shape = shape;
    return KILN_OK;
}

static kiln_status write_source(building *x, kiln_cli_source *as, kiln_err *err) {
    as->options.choose = x->o.choose;
    as->options.chooser = x->o.chooser;
    return kiln_cli_source_write(x->args, &x->shape->source, &x->shape->expectation,
                                 x->profile, as, err);
}

/* What was built as text and JSON. */
static kiln_status build_all(const kiln_cli_args *args, const kiln_build_options *o,
                             const beside *with, kiln_cli_source *as, int *exit_code,
                             kiln_err *err) {
    building x = {
        .args = args, .profile_word = args->value[OPT_PROFILE], .o = *o, .with = with};
    kiln_profile *profile = NULL;
    kiln_placement placement;
    KILN_TRY(read_share(args, &x.share, err));
    KILN_TRY(read_pack(args, &x.o.pack_at_open, err));
    KILN_TRY(read_placement(args, &placement, &x.o, err));
    KILN_TRY(kiln_cli_layouts(args, OPT_LAYOUTS, &x.o.chooser, err));
    KILN_TRY(read_profiles(args, &profile, &x.n_profiles, err));
    x.profile = profile;
    if (as->is_source && x.n_profiles > 1)
        return kiln_fail(err, KILN_ERR_ARG,
                         "C source and libraries are for one --profile: the files of "
                         "two would have the same names");
    if (!as->is_source)
        KILN_TRY(read_output(args, &x.o, err));
    kiln_interrupt_catch(); /* a network of the zoo begins as a file in a folder */
    KILN_TRY(read_models(&x, as, err));
    if (as->is_source)
        return write_source(&x, as, err);
    if (x.o.path != NULL)
        KILN_TRY(order_profiles(&x, profile, err));
    kiln_cli_answer_init(&x.answer, args->arena);
    kiln_json_begin_array(&x.answer.w);
    KILN_TRY(build_archives(&x, err));
    kiln_json_end_array(&x.answer.w);
    if (kiln_config_file_unused(&x.answer.text, o->choose) > 0 || x.is_short)
        *exit_code = KILN_EXIT_CHECK;
    return kiln_cli_answer_give(&x.answer, args, OPT_JSON, err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_choose_options choose;
    beside with = {.key = NULL};
    kiln_cli_source as;
    kiln_secret_key key;
    kiln_build_options o = {.version = kiln_args_get(args, OPT_VERSION, NULL),
                            .licence = kiln_args_get(args, OPT_LICENCE, NULL),
                            .choose = &choose,
                            .no_verify = kiln_args_has(args, OPT_NO_VERIFY),
                            .seed = 1};
    if (o.licence != NULL && !kiln_package_is_licence(o.licence))
        return kiln_fail(err, KILN_ERR_ARG,
                         "--licence must be an SPDX expression such as 'MIT OR "
                         "Apache-2.0', is '%s'",
                         kiln_str_printable(args->arena, kiln_str_from(o.licence), 64));
    KILN_TRY(read_format(args, &as, err));
    KILN_TRY(kiln_cli_choose(args->arena, NULL,
                             kiln_args_get(args, OPT_CONFIG_FILE, NULL), &choose, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, OPT_THREADS, "1"), "--threads", 1,
                             KILN_POOL_MAX_THREADS, &o.threads, err));
    KILN_TRY(kiln_cli_advice(args, OPT_DB, OPT_NO_READY, OPT_NO_PREDICT, o.threads,
                             &choose, &with.advice, err));
    if (kiln_args_has(args, OPT_SIGN)) {
        KILN_TRY(kiln_cli_secret_key(args, kiln_args_get(args, OPT_SIGN, NULL),
                                     OPT_PASSWORD, &key, err));
        with.key = &key;
    }
    const kiln_status st = build_all(args, &o, &with, &as, exit_code, err);
    if (with.key != NULL)
        kiln_secret_key_wipe(&key);
    return st;
}

const kiln_verb kiln_verb_build = {
    .name = "build",
    .summary = "compile a model and pack it as an archive that runs by itself",
    .usage = "MODEL --profile P [options]",
    .example = "  kiln build model.onnx --profile native -o model.kiln.tar.zst\n"
               "  kiln build zoo:resnet18 --profile x86-avx512 --profile aarch64 -o "
               "packages/\n"
               "  kiln build model.onnx --shape x:1x3x224x224 --shape x:8x3x224x224 "
               "--profile x86-avx512 --profile x86-avx2 -o one.kiln.tar.zst\n"
               "  kiln build model.onnx --shape x:1x3x224x224 --profile x86-avx2 "
               "--numerics strict --version 2.1\n"
               "  kiln build model.onnx --profile native --threads 2 --require-tuned "
               "95%\n"
               "  kiln build model.onnx --profile native --sign release.key\n"
               "  kiln build model.onnx --profile aarch64 --format c -o source/\n"
               "  kiln build model.onnx --profile native --format shared -o lib/\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
