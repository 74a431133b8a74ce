/* The same bytes again: every material held against its hash, built with what the
 * provenance says, and the two archives compared, entry by entry where they differ. */
#include "pipeline/package/package.h"
#include "pipeline/tune/tune.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN = 100 /* bytes of a line */ };

typedef struct rebuilding {
    kiln_arena *arena;
    const char *archive;
    const kiln_provenance *p;
    const kiln_rebuild_options *o;
    kiln_source *source; /* one for each set of shapes */
    size_t n_sources;
    kiln_choose_options choose;
    kiln_tune_advice advice;
    kiln_oracle oracle;
    kiln_rebuild *out;
} rebuilding;

static void differs(rebuilding *r, const char *sentence) {
    kiln_vec_push(r->arena, &r->out->difference, sentence);
}

/* ---- who builds ------------------------------------------------------------------ */

static void compare_version(rebuilding *r, const char *what, const char *was,
                            const char *is) {
    static const char unknown[] = "an unknown one";
    was = was == NULL ? unknown : was;
    is = is == NULL ? unknown : is;
    if (strcmp(was, is) == 0)
        return;
    differs(r,
            kiln_format(r->arena, "it was built by %s %s, here is %s", what,
                        kiln_str_printable(r->arena, kiln_str_from(was), SHOWN), is));
}

static kiln_status compare_versions(rebuilding *r, kiln_err *err) {
    const kiln_builder *was = &r->p->builder;
    kiln_builder is;
    KILN_TRY(kiln_builder_here(r->arena, &is, err));
    compare_version(r, "kiln", was->kiln, is.kiln);
    compare_version(r, "kiln's commit", was->commit, is.commit);
    compare_version(r, "LLVM", was->llvm, is.llvm);
    compare_version(r, "lld", was->lld, is.lld);
    compare_version(r, "zstd", was->zstd, is.zstd);
    return KILN_OK;
}

/* ---- materials ------------------------------------------------------------------- */

static kiln_status is_another(const char *path, const char *is,
                              const kiln_material *want, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_PARSE,
                     "'%s' has SHA-256 %s, the provenance names '%s' with %s", path, is,
                     want->name, want->sha256);
}

static kiln_status check_data(rebuilding *r, const kiln_source *s, kiln_err *err) {
    for (size_t i = 0; i < r->p->n_data || i < s->n_data; i++) {
        char sha256[KILN_SHA256_HEX];
        if (i >= r->p->n_data || i >= s->n_data ||
            strcmp(r->p->data[i].name, s->data[i].location) != 0)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "the provenance names %zu files of the model's data, the "
                             "model %zu, or others",
                             r->p->n_data, s->n_data);
        kiln_sha256_of(s->data[i].bytes.p, s->data[i].bytes.n, sha256);
        if (strcmp(sha256, r->p->data[i].sha256) != 0)
            return is_another(s->data[i].location, sha256, &r->p->data[i], err);
    }
    return KILN_OK;
}

/* The hash comes first: another model may not even be one of these inputs. */
static kiln_status read_model(rebuilding *r, const kiln_import_options *import,
                              kiln_source *s, kiln_err *err) {
    const kiln_status st = kiln_source_read(r->arena, r->o->model, import, s, err);
    const char *sha256 = s->file_sha256; /* its data have hashes of their own */
    if (sha256[0] != '\0' && strcmp(sha256, r->p->model.sha256) != 0) {
        kiln_err_clear(err);
        return is_another(r->o->model, sha256, &r->p->model, err);
    }
    if (st != KILN_OK)
        return st;
    KILN_TRY(check_data(r, s, err));
    s->name = r->p->name;
    s->graph->name = r->p->name;
    return KILN_OK;
}

static kiln_status read_config(rebuilding *r, kiln_err *err) {
    const kiln_material *want = &r->p->config;
    char sha256[KILN_SHA256_HEX];
    kiln_str text;
    if (want->name == NULL)
        return KILN_OK;
    if (r->o->config == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "it was built with configurations of '%s': give them by "
                         "--config-file",
                         want->name);
    KILN_TRY(kiln_file_map(r->arena, r->o->config, KILN_JSON_MAX_BYTES, &text, err));
    kiln_sha256_of(text.p, text.n, sha256);
    if (strcmp(sha256, want->sha256) != 0)
        return is_another(r->o->config, sha256, want, err);
    KILN_TRY(kiln_json_parse(r->arena, text, r->o->config, &r->choose.file, err));
    return kiln_config_file_check(r->choose.file, r->o->config, err);
}

static void close_db(void *db) { kiln_db_close(db); }

static kiln_status open_records(rebuilding *r, kiln_err *err) {
    static const kiln_db_options reads = {.read_only = true};
    kiln_tune_ready ready;
    r->advice = (kiln_tune_advice){.threads = r->p->threads, .arena = r->arena};
    if (r->p->ready.name != NULL) {
        KILN_TRY(kiln_tune_ready_open(r->arena, NULL, &ready, err));
        r->advice.ready = ready.db;
    }
    if (r->o->db != NULL) {
        KILN_TRY(kiln_db_open(r->arena, r->o->db, &reads, &r->advice.db, err));
        kiln_arena_defer(r->arena, close_db, r->advice.db);
        if (!r->p->no_predict)
            KILN_TRY(kiln_tune_transfer_open(r->arena, r->advice.db,
                                             &kiln_cost_model_xgboost,
                                             &r->advice.transfer, err));
    }
    r->oracle = kiln_tune_oracle(&r->advice);
    r->choose.oracle = &r->oracle;
    return KILN_OK;
}

/* What tuning said then, and what it says now. */
static void compare_records(rebuilding *r) {
    kiln_tune_answers is;
    kiln_tune_answers_of(r->arena, &r->advice, &r->p->profile, &is);
    if (strcmp(is.sha256, r->p->records_sha256) != 0)
        differs(r, kiln_format(r->arena,
                               "its tuning records are others: %d kernel%s had some, "
                               "here %d have; give the database of that build by --db",
                               r->p->n_records, kiln_plural(r->p->n_records), is.n));
    else if (r->p->is_searched && strcmp(is.costs_sha256, r->p->costs_sha256) != 0)
        differs(r, kiln_format(r->arena,
                               "the costs that its search over layouts compared are "
                               "others: %d were on record, here %d are; give the "
                               "database of that build by --db",
                               r->p->n_costs, is.n_costs));
}

/* ---- archives -------------------------------------------------------------------- */

static bool is_equal(const kiln_package_entry *x, const kiln_package_entry *y) {
    return strcmp(x->name, y->name) == 0 && x->bytes == y->bytes &&
           strcmp(x->sha256, y->sha256) == 0;
}

/* The first that differs; the bill of materials, which repeats what the others say, is
 * the last to tell. */
static void compare_entries(rebuilding *r, const kiln_package_facts *was,
                            const kiln_package_facts *is) {
    const kiln_package_entry *x = NULL, *y = NULL;
    for (size_t i = 0; i < was->n_entries && i < is->n_entries; i++) {
        const bool is_told = x != NULL && strcmp(x->name, "sbom.spdx.json") != 0;
        if (is_told || is_equal(&was->entry[i], &is->entry[i]))
            continue;
        x = &was->entry[i];
        y = &is->entry[i];
    }
    if (x != NULL)
        differs(r, kiln_format(
                       r->arena,
                       "its entry '%s' has %" PRIu64
                       " bytes with SHA-256 %s, rebuilt '%s' has %" PRIu64 " with %s",
                       x->name, x->bytes, x->sha256, y->name, y->bytes, y->sha256));
}

static const char *shown(const rebuilding *r, kiln_str line) {
    line = kiln_str_trim(line);
    line.n -= kiln_str_ends(line, ",");
    return kiln_str_printable(r->arena, line, SHOWN);
}

/* The first line that is another one. */
static bool compare_manifests(rebuilding *r, const kiln_package_facts *was,
                              const kiln_package_facts *is) {
    kiln_buf x, y;
    kiln_str x_line, y_line;
    kiln_buf_init(&x, r->arena);
    kiln_buf_init(&y, r->arena);
    kiln_package_manifest(&x, was);
    kiln_package_manifest(&y, is);
    kiln_str x_rest = kiln_buf_str(&x), y_rest = kiln_buf_str(&y);
    while (kiln_str_cut(&x_rest, '\n', &x_line) &&
           kiln_str_cut(&y_rest, '\n', &y_line)) {
        if (kiln_str_eq(x_line, y_line))
            continue;
        differs(r, kiln_format(r->arena, "its manifest says %s; rebuilt it says %s",
                               shown(r, x_line), shown(r, y_line)));
        return true;
    }
    return false;
}

static kiln_status compare_archives(rebuilding *r, kiln_str was, const char *rebuilt,
                                    kiln_err *err) {
    kiln_package_facts x, y;
    kiln_str is;
    KILN_TRY(kiln_file_map(r->arena, rebuilt, 0, &is, err));
    if (kiln_str_eq(was, is))
        return KILN_OK;
    KILN_TRY(kiln_package_inspect(r->arena, r->archive, &x, err));
    KILN_TRY(kiln_package_inspect(r->arena, rebuilt, &y, err));
    compare_entries(r, &x, &y);
    if (!compare_manifests(r, &x, &y))
        differs(r, "entries and manifest are the same, their packing is not: other "
                   "bytes of tar or zstd");
    return KILN_OK;
}

/* ---- all ------------------------------------------------------------------------- */

/* NULL: nothing was said of inputs. */
static const kiln_import_options *import_of(const rebuilding *r, size_t set) {
    return r->o->import != NULL ? &r->o->import[set] : NULL;
}

static kiln_status read_models(rebuilding *r, kiln_err *err) {
    r->n_sources = r->o->n_imports > 0 ? r->o->n_imports : 1;
    r->source = kiln_array(r->arena, kiln_source, r->n_sources);
    for (size_t i = 0; i < r->n_sources; i++)
        KILN_TRY(read_model(r, import_of(r, i), &r->source[i], err));
    return KILN_OK;
}

/* Of one profile and one set of shapes, as `b->path`. */
static kiln_status build_one(rebuilding *r, size_t i, kiln_build_options *o,
                             kiln_build *b, kiln_err *err) {
    const size_t profile = i / r->n_sources, set = i % r->n_sources;
    const kiln_source *s = &r->source[set];
    kiln_expectation e;
    o->import = import_of(r, set);
    KILN_TRY(kiln_expectation_of(r->arena, s, o->seed, &e, err));
    return kiln_package_build(r->arena, s, &e,
                              profile == 0 ? &r->p->profile : &r->p->more[profile - 1],
                              o, b, err);
}

static kiln_status build(rebuilding *r, const char **path, kiln_err *err) {
    const kiln_provenance *p = r->p;
    const size_t n = (1 + p->n_more) * r->n_sources;
    const char *dir = NULL;
    kiln_placement placement;
    kiln_build *b = kiln_array(r->arena, kiln_build, n);
    KILN_TRY(kiln_dir_temp(r->arena, &dir, err));
    const kiln_net_chooser *chooser =
        p->layouts != NULL ? kiln_net_chooser_find(kiln_str_from(p->layouts)) : NULL;
    if (p->layouts != NULL && chooser == NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "this kiln has no chooser of layouts '%s'",
                         kiln_str_printable(r->arena, kiln_str_from(p->layouts), 64));
    KILN_TRY(kiln_place_by_rules(r->arena, p->place, p->n_places, &placement, err));
    *path = kiln_path_join(r->arena, dir, "rebuilt.kiln.tar.zst");
    kiln_build_options o = {.version = p->version,
                            .licence = p->licence,
                            .path = *path,
                            .choose = &r->choose,
                            .threads = p->threads,
                            .pack_at_open = p->packs_at_open,
                            .chooser = chooser,
                            .placement = p->n_places > 0 ? &placement : NULL,
                            .place = p->place,
                            .n_places = p->n_places,
                            .again = p,
                            .seed = (uint64_t)p->seed};
    for (size_t i = 0; i < n; i++) {
        if (n > 1)
            o.path = kiln_path_join(r->arena, dir,
                                    kiln_format(r->arena, "%zu.kiln.tar.zst", i));
        KILN_TRY(build_one(r, i, &o, &b[i], err));
    }
    o.path = *path;
    if (n > 1)
        KILN_TRY(kiln_package_join(r->arena, b, n, &o, err));
    r->out->bytes = b[0].bytes;
    memcpy(r->out->sha256, b[0].sha256, sizeof b[0].sha256);
    return KILN_OK;
}

static kiln_status check_subject(rebuilding *r, kiln_str *file, kiln_err *err) {
    char sha256[KILN_SHA256_HEX];
    KILN_TRY(kiln_file_map(r->arena, r->archive, 0, file, err));
    kiln_sha256_of(file->p, file->n, sha256);
    return strcmp(sha256, r->p->archive.sha256) == 0
               ? KILN_OK
               : is_another(r->archive, sha256, &r->p->archive, err);
}

kiln_status kiln_package_rebuild(kiln_arena *a, const char *archive,
                                 const kiln_provenance *p,
                                 const kiln_rebuild_options *o, kiln_rebuild *out,
                                 kiln_err *err) {
    rebuilding r = {.arena = a, .archive = archive, .p = p, .o = o, .out = out};
    const char *path = NULL;
    kiln_str file;
    *out = (kiln_rebuild){.bytes = 0};
    KILN_TRY(check_subject(&r, &file, err));
    KILN_TRY(compare_versions(&r, err));
    if (out->difference.n > 0)
        return KILN_OK;
    KILN_TRY(read_models(&r, err));
    KILN_TRY(read_config(&r, err));
    KILN_TRY(open_records(&r, err));
    KILN_TRY(build(&r, &path, err));
    compare_records(&r);
    return compare_archives(&r, file, path, err);
}
