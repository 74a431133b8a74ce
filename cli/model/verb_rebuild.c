/* kiln rebuild: is an archive, byte for byte, what its provenance says? */
#include "cli/options/db_option.h"
#include "cli/options/shape_sets.h"
#include "cli/options/sign_option.h"
#include "pipeline/package/package.h"

#include <inttypes.h>
#include <string.h>

enum {
    OPT_CHECK,
    OPT_PROVENANCE,
    OPT_MODEL,
    OPT_DB,
    OPT_CONFIG_FILE,
    OPT_BIND,
    OPT_KEYRING,
    OPT_JSON,
    N_OPTIONS
};

static const kiln_option options[N_OPTIONS] = {
    [OPT_CHECK] = {"--check", NULL, "build it again, elsewhere, and compare", false},
    [OPT_PROVENANCE] = {"--provenance", "FILE",
                        "what it was made of (ARCHIVE.intoto.json)", false},
    [OPT_MODEL] = {"--model", "MODEL",
                   "the model (of the provenance's name, beside the archive or here)",
                   false},
    [OPT_DB] = KILN_DB_OPTION,
    [OPT_CONFIG_FILE] = {"--config-file", "FILE",
                         "the configurations that it was built with", false},
    [OPT_BIND] = {"--bind", "NAME=FILE", "the value of an input that a file fixed",
                  true},
    [OPT_KEYRING] = KILN_KEYRING_OPTION,
    [OPT_JSON] = {"--json", "FILE", "write what differs as JSON ('-': standard output)",
                  false},
};

/* ---- provenance ------------------------------------------------------------------ */

/* Where a key is required it must have signed archive and provenance. */
static kiln_status check_signature(const kiln_cli_args *args, const char *path,
                                   kiln_str provenance, kiln_err *err) {
    const kiln_keyring *keys = NULL;
    kiln_str file;
    kiln_signed says;
    char sha256[KILN_SHA256_HEX];
    KILN_TRY(kiln_cli_keyring(args, OPT_KEYRING, &keys, err));
    if (keys == NULL)
        return KILN_OK;
    KILN_TRY(kiln_file_map(args->arena, args->pos[0], 0, &file, err));
    KILN_TRY(kiln_archive_check(args->arena, keys, args->pos[0], file, &says, err));
    kiln_sha256_of(provenance.p, provenance.n, sha256);
    if (says.provenance == NULL || strcmp(says.provenance, sha256) != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' is not the provenance with which '%s' was signed", path,
                         args->pos[0]);
    return KILN_OK;
}

static kiln_status read_provenance(const kiln_cli_args *args, kiln_provenance *out,
                                   kiln_err *err) {
    const char *beside =
        kiln_format(args->arena, "%s" KILN_PROVENANCE_ENDING, args->pos[0]);
    const char *path = kiln_args_get(args, OPT_PROVENANCE, beside);
    kiln_str text;
    KILN_TRY(kiln_file_map(args->arena, path, KILN_PROVENANCE_MAX, &text, err));
    KILN_TRY(check_signature(args, path, text, err));
    return kiln_provenance_read(args->arena, text, path, out, err);
}

/* ---- what it names --------------------------------------------------------------- */

static kiln_status find_model(const kiln_cli_args *args, const kiln_provenance *p,
                              const char **out, kiln_err *err) {
    const char *name = p->model.name;
    const char *beside =
        kiln_path_join(args->arena, kiln_path_dir(args->arena, args->pos[0]), name);
    *out = kiln_args_get(args, OPT_MODEL, NULL);
    if (*out != NULL)
        return KILN_OK;
    if (kiln_str_starts(kiln_str_from(name), "zoo:") || kiln_file_exists(name))
        *out = name;
    else if (kiln_file_exists(beside))
        *out = beside;
    else
        return kiln_fail(err, KILN_ERR_MISSING,
                         "there is no '%s', neither here nor beside the archive: say "
                         "where the model is, by --model",
                         kiln_str_printable(args->arena, kiln_str_from(name), 200));
    return KILN_OK;
}

/* What the user says of this input; NULL: nothing. */
static const char *given_bind(const kiln_cli_args *args, const char *name) {
    const char *found = NULL;
    const size_t n = strlen(name);
    for (size_t i = 0; i < args->n_value[OPT_BIND]; i++) {
        const char *text = args->value[OPT_BIND][i];
        const char *equal = strrchr(text, '=');
        if (equal != NULL && (size_t)(equal - text) == n && strncmp(text, name, n) == 0)
            found = text;
    }
    return found;
}

static kiln_status read_bind(const kiln_cli_args *args, const char *model,
                             const kiln_provenance_bind *b, kiln_value_binding *out,
                             kiln_err *err) {
    const char *name = kiln_str_printable(args->arena, kiln_str_from(b->is.name), 64);
    const char *text = given_bind(args, b->is.name);
    if (text == NULL && b->number == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "input '%s' was fixed to the values of a file: give it by "
                         "--bind %s=FILE",
                         name, name);
    if (text == NULL)
        text = kiln_format(args->arena, "%s=%s", b->is.name, b->number);
    KILN_TRY(kiln_cli_value_binding(args->arena, model, text, out, err));
    const kiln_package_fixed is =
        kiln_package_fixed_of(args->arena, out->name, &out->value);
    if (strcmp(is.type, b->is.type) == 0 && strcmp(is.sha256, b->is.sha256) == 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_PARSE,
                     "input '%s' was fixed to another value: SHA-256 %s, this one has "
                     "%s",
                     name, b->is.sha256, is.sha256);
}

/* Words of --shape as they were given: of an archive with variants, several sets. */
static kiln_status read_inputs(const kiln_cli_args *args, const kiln_provenance *p,
                               const char *model, kiln_rebuild_options *out,
                               kiln_err *err) {
    kiln_arena *a = args->arena;
    kiln_value_binding *value = kiln_array(a, kiln_value_binding, p->n_binds);
    const char **words = kiln_arena_dup(a, p->shape, p->n_shapes * sizeof *words);
    size_t n_words = p->n_shapes;
    const kiln_cli_args given = {
        .arena = a, .value = &words, .n_value = &n_words, .n_options = 1};
    kiln_cli_args *set = NULL;
    for (size_t i = 0; i < p->n_binds; i++)
        KILN_TRY(read_bind(args, model, &p->bind[i], &value[i], err));
    KILN_TRY(kiln_cli_shape_sets(&given, 0, 1, &set, &out->n_imports, err));
    kiln_import_options *import = kiln_array(a, kiln_import_options, out->n_imports);
    for (size_t k = 0; k < out->n_imports; k++) {
        const size_t n = set[k].n_value[0];
        kiln_shape_binding *shape = kiln_array(a, kiln_shape_binding, n);
        for (size_t i = 0; i < n; i++)
            KILN_TRY(kiln_cli_shape_binding(a, set[k].value[0][i], &shape[i], err));
        import[k] = (kiln_import_options){.shapes = shape,
                                          .n_shapes = n,
                                          .values = value,
                                          .n_values = p->n_binds,
                                          .signature = p->signature,
                                          .has_state = p->has_state,
                                          .as_reference = p->as_reference};
    }
    out->import = import;
    return KILN_OK;
}

/* Where the build used records of a database: the one that is named, else the user's
 * own where there is one. Elsewhere it would only say what was not known then. */
static kiln_status find_db(const kiln_cli_args *args, const kiln_provenance *p,
                           const char **out, kiln_err *err) {
    const char *path = NULL;
    *out = NULL;
    if (p->n_records == p->n_ready && !kiln_args_has(args, OPT_DB))
        return KILN_OK;
    KILN_TRY(kiln_cli_db_path(args, OPT_DB, false, &path, err));
    const char *file = kiln_db_file(path);
    if (kiln_args_has(args, OPT_DB) || file == NULL || kiln_file_exists(file))
        *out = path;
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

static kiln_status print(const kiln_cli_args *args, const kiln_rebuild *r,
                         kiln_err *err) {
    const char *path = args->pos[0];
    KILN_ASSERT(r->difference.n > 0 || r->bytes > 0, "'%s' equals what was not built",
                path);
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_object(&answer.w);
    kiln_json_member_str(&answer.w, "archive", path);
    kiln_json_member_bool(&answer.w, "identical", r->difference.n == 0);
    kiln_json_member_str(&answer.w, "rebuilt_sha256", r->bytes > 0 ? r->sha256 : NULL);
    kiln_json_name(&answer.w, "differences");
    kiln_json_begin_array(&answer.w);
    for (size_t i = 0; i < r->difference.n; i++) {
        kiln_json_put_string(&answer.w, kiln_str_from(r->difference.v[i]));
        kiln_buf_printf(&answer.text, "%s: %s\n", path, r->difference.v[i]);
    }
    kiln_json_end_array(&answer.w);
    kiln_json_end_object(&answer.w);
    if (r->difference.n == 0)
        kiln_buf_printf(&answer.text,
                        "%s: built again, the same %" PRIu64 " bytes, SHA-256 %s\n",
                        path, r->bytes, r->sha256);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_rebuild_options o = {.config = kiln_args_get(args, OPT_CONFIG_FILE, NULL)};
    kiln_provenance p;
    kiln_rebuild r;
    if (!kiln_args_has(args, OPT_CHECK))
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln rebuild checks what 'kiln build' made: kiln rebuild "
                         "--check %s",
                         args->pos[0]);
    kiln_interrupt_catch();
    KILN_TRY(read_provenance(args, &p, err));
    KILN_TRY(find_model(args, &p, &o.model, err));
    KILN_TRY(read_inputs(args, &p, o.model, &o, err));
    KILN_TRY(find_db(args, &p, &o.db, err));
    KILN_TRY(kiln_package_rebuild(args->arena, args->pos[0], &p, &o, &r, err));
    KILN_TRY(print(args, &r, err));
    *exit_code = r.difference.n == 0 ? KILN_EXIT_OK : KILN_EXIT_CHECK;
    return KILN_OK;
}

const kiln_verb kiln_verb_rebuild = {
    .name = "rebuild",
    .summary = "build an archive again from its provenance: the same bytes?",
    .usage = "--check ARCHIVE [options]",
    .example = "  kiln rebuild --check model-1-native.kiln.tar.zst --model model.onnx\n"
               "  kiln rebuild --check model-1-native.kiln.tar.zst --db tuning.db "
               "--keyring keys/\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
