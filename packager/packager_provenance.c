/* Provenance, written: in-toto Statement v1 with a predicate of SLSA provenance v1. */
#include "packager/packager_provenance.h"

#include "compiler/codegen/codegen.h"
#include "packager/codec.h"
#include "packager/provenance_internal.h"

kiln_status kiln_builder_here(kiln_arena *a, kiln_builder *out, kiln_err *err) {
    kiln_builder b = {.kiln = KILN_VERSION,
                      .commit = kiln_own_version().commit,
                      .llvm = kiln_codegen_llvm_version(a),
                      .zstd = kiln_zstd_version()};
    KILN_TRY(kiln_package_linker(a, &b.lld, err));
    *out = b;
    return KILN_OK;
}

static void put_digest(kiln_json_writer *w, const char *sha256) {
    kiln_json_name(w, "digest");
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "sha256", sha256);
    kiln_json_end_object(w);
}

static void put_dependency(kiln_json_writer *w, const char *uri, const char *name,
                           const char *sha256) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "uri", uri);
    kiln_json_member_str(w, "name", name);
    put_digest(w, sha256);
    kiln_json_end_object(w);
}

static void put_model(kiln_json_writer *w, const kiln_provenance *p) {
    kiln_json_member_str(w, "name", p->name);
    kiln_json_member_str(w, "version", p->version);
    kiln_json_member_str(w, "licence", p->licence);
    kiln_json_name(w, "shapes");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < p->n_shapes; i++)
        kiln_json_put_string(w, kiln_str_from(p->shape[i]));
    kiln_json_end_array(w);
    kiln_json_name(w, "binds");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < p->n_binds; i++) {
        const kiln_provenance_bind *b = &p->bind[i];
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", b->is.name);
        kiln_json_member_str(w, "number", b->number);
        kiln_json_member_str(w, "type", b->is.type);
        kiln_json_member_str(w, "sha256", b->is.sha256);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

/* Not there where an archive is for one. */
static void put_more_profiles(kiln_json_writer *w, const kiln_provenance *p) {
    if (p->n_more == 0)
        return;
    kiln_json_name(w, "more_profiles");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < p->n_more; i++) {
        kiln_json_begin_object(w);
        kiln_json_name(w, "profile");
        kiln_profile_put(w, &p->more[i]);
        kiln_json_member_str(w, "measure", p->more[i].measure);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

static void put_parameters(kiln_json_writer *w, const kiln_provenance *p) {
    kiln_json_name(w, "externalParameters");
    kiln_json_begin_object(w);
    put_model(w, p);
    kiln_json_member_i64(w, "threads", p->threads);
    kiln_json_member_bool(w, "proved", !p->is_unproved);
    kiln_json_member_str(w, "pack", p->packs_at_open ? "open" : "build");
    if (p->signature != NULL)
        kiln_json_member_str(w, "signature", p->signature);
    if (p->has_state)
        kiln_json_member_bool(w, "state", true);
    if (p->as_reference)
        kiln_json_member_str(w, "rounding", "reference");
    if (p->layouts != NULL)
        kiln_json_member_str(w, "layouts", p->layouts);
    if (p->no_predict)
        kiln_json_member_bool(w, "predict", false);
    if (p->n_places > 0) {
        kiln_json_name(w, "place");
        kiln_json_begin_array(w);
        for (size_t i = 0; i < p->n_places; i++)
            kiln_json_put_string(w, kiln_str_from(p->place[i]));
        kiln_json_end_array(w);
    }
    kiln_json_name(w, "profile");
    kiln_profile_put(w, &p->profile);
    kiln_json_member_str(w, "measure", p->profile.measure);
    put_more_profiles(w, p);
    kiln_json_end_object(w);
    kiln_json_name(w, "internalParameters");
    kiln_json_begin_object(w);
    kiln_json_member_i64(w, "source_date_epoch", p->time_s);
    kiln_json_member_i64(w, "selftest_seed", p->seed);
    kiln_json_member_i64(w, "tuned_kernels", p->n_records);
    kiln_json_member_i64(w, "ready_kernels", p->n_ready);
    if (p->is_searched) {
        kiln_json_member_i64(w, "searched_steps", p->n_sites);
        kiln_json_member_i64(w, "measured_steps", p->n_known);
        kiln_json_member_i64(w, "compared_costs", p->n_costs);
    }
    kiln_json_end_object(w);
}

static void put_dependencies(kiln_json_writer *w, const kiln_provenance *p) {
    kiln_json_name(w, "resolvedDependencies");
    kiln_json_begin_array(w);
    put_dependency(w, KILN_URI_MODEL, p->model.name, p->model.sha256);
    for (size_t i = 0; i < p->n_data; i++)
        put_dependency(w, KILN_URI_DATA, p->data[i].name, p->data[i].sha256);
    if (p->config.name != NULL)
        put_dependency(w, KILN_URI_CONFIG, p->config.name, p->config.sha256);
    put_dependency(w, KILN_URI_RECORDS, KILN_RECORDS_NAME, p->records_sha256);
    if (p->is_searched)
        put_dependency(w, KILN_URI_COSTS, KILN_COSTS_NAME, p->costs_sha256);
    if (p->ready.name != NULL)
        put_dependency(w, KILN_URI_READY, p->ready.name, p->ready.sha256);
    kiln_json_end_array(w);
}

static void put_run(kiln_json_writer *w, const kiln_builder *b) {
    kiln_json_name(w, "runDetails");
    kiln_json_begin_object(w);
    kiln_json_name(w, "builder");
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "id", KILN_BUILDER_ID);
    kiln_json_name(w, "version");
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "kiln", b->kiln);
    kiln_json_member_str(w, "commit", b->commit);
    kiln_json_member_str(w, "llvm", b->llvm);
    kiln_json_member_str(w, "lld", b->lld);
    kiln_json_member_str(w, "zstd", b->zstd);
    kiln_json_end_object(w);
    kiln_json_end_object(w);
    kiln_json_end_object(w);
}

void kiln_provenance_write(kiln_buf *out, const kiln_provenance *p) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "_type", KILN_STATEMENT_TYPE);
    kiln_json_name(&w, "subject");
    kiln_json_begin_array(&w);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "name", p->archive.name);
    put_digest(&w, p->archive.sha256);
    kiln_json_end_object(&w);
    kiln_json_end_array(&w);
    kiln_json_member_str(&w, "predicateType", KILN_PREDICATE_TYPE);
    kiln_json_name(&w, "predicate");
    kiln_json_begin_object(&w);
    kiln_json_name(&w, "buildDefinition");
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "buildType", KILN_BUILD_TYPE);
    put_parameters(&w, p);
    put_dependencies(&w, p);
    kiln_json_end_object(&w);
    put_run(&w, &p->builder);
    kiln_json_end_object(&w);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}
