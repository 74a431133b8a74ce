/* What an archive was made of, as its statement says. */
#include "pipeline/package/package.h"
#include "pipeline/tune/tune.h"

#include <string.h>

static kiln_status hash_file(const char *path, char sha256[KILN_SHA256_HEX],
                             kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str bytes;
    const kiln_status st = kiln_file_map(&scratch, path, 0, &bytes, err);
    if (st == KILN_OK)
        kiln_sha256_of(bytes.p, bytes.n, sha256);
    kiln_arena_fini(&scratch);
    return st;
}

/* The number of "sr=16000"; NULL: a file stands there. */
static const char *number_of(const char *bind) {
    const char *equal = strrchr(bind, '=');
    const kiln_str text = kiln_str_from(equal != NULL ? equal + 1 : "");
    const bool is_file = kiln_str_ends(text, ".npy") || kiln_str_ends(text, ".pb");
    return text.n > 0 && !is_file ? text.p : NULL;
}

static void add_binds(kiln_arena *a, const kiln_build_options *o,
                      const kiln_provenance_words *words, kiln_provenance *p) {
    const size_t n = o->import != NULL ? o->import->n_values : 0;
    kiln_provenance_bind *bind = kiln_array(a, kiln_provenance_bind, n);
    for (size_t i = 0; i < n; i++) {
        const kiln_value_binding *v = &o->import->values[i];
        bind[i].is = kiln_package_fixed_of(a, v->name, &v->value);
        bind[i].number = number_of(words->bind[i]);
    }
    p->bind = bind;
    p->n_binds = n;
}

static void add_data(kiln_arena *a, const kiln_source *s, kiln_provenance *p) {
    kiln_material *data = kiln_array(a, kiln_material, s->n_data);
    for (size_t i = 0; i < s->n_data; i++) {
        data[i].name = s->data[i].location;
        kiln_sha256_of(s->data[i].bytes.p, s->data[i].bytes.n, data[i].sha256);
    }
    p->data = data;
    p->n_data = s->n_data;
}

static kiln_status add_records(kiln_arena *a, const kiln_profile *profile,
                               const kiln_provenance_words *words,
                               const kiln_net_forecast *search, kiln_provenance *p,
                               kiln_err *err) {
    kiln_tune_answers answers;
    char *ready = NULL;
    kiln_tune_answers_of(a, words->advice, profile, &answers);
    p->n_records = answers.n;
    memcpy(p->records_sha256, answers.sha256, sizeof answers.sha256);
    if (search != NULL) {
        p->is_searched = true;
        p->n_sites = search->n_sites;
        p->n_known = search->n_known;
        p->n_costs = answers.n_costs;
        memcpy(p->costs_sha256, answers.costs_sha256, sizeof answers.costs_sha256);
    }
    if (words->config != NULL) {
        p->config.name = kiln_path_base(words->config);
        KILN_TRY(hash_file(words->config, p->config.sha256, err));
    }
    if (words->no_ready)
        return KILN_OK;
    KILN_TRY(kiln_data_find(a, KILN_TUNE_READY_FILE, &ready, err));
    p->ready.name = KILN_TUNE_READY_FILE;
    return hash_file(ready, p->ready.sha256, err);
}

/* As the manifest has it. */
static kiln_profile said(const kiln_profile *p) {
    kiln_profile out = *p;
    if (p->measure != NULL && strcmp(p->measure, kiln_device_local.name) == 0)
        out.measure = NULL;
    return out;
}

static void add_profiles(kiln_arena *a, const kiln_profile *p,
                         const kiln_provenance_words *words, kiln_provenance *out) {
    kiln_profile *more = kiln_array(a, kiln_profile, words->n_more);
    for (size_t i = 0; i < words->n_more; i++)
        more[i] = said(&words->more[i]);
    out->profile = said(p);
    out->more = more;
    out->n_more = words->n_more;
}

kiln_status kiln_provenance_of(kiln_arena *a, const kiln_source *s,
                               const kiln_profile *p, const kiln_build_options *o,
                               const kiln_build *b, const kiln_provenance_words *words,
                               kiln_provenance *out, kiln_err *err) {
    const bool is_zoo = kiln_str_starts(kiln_str_from(words->model), "zoo:");
    kiln_provenance r = {.name = s->name,
                         .version = o->version != NULL ? o->version : "1",
                         .licence = o->licence,
                         .shape = words->shape,
                         .n_shapes = words->n_shapes,
                         .signature = words->signature,
                         .has_state = words->has_state,
                         .as_reference = words->as_reference,
                         .threads = o->threads > 0 ? o->threads : 1,
                         .is_unproved = o->no_verify,
                         .packs_at_open = o->pack_at_open,
                         .layouts = o->chooser != NULL ? o->chooser->name : NULL,
                         .no_predict = words->no_predict,
                         .place = o->place,
                         .n_places = o->n_places,
                         .n_ready = b->n_ready,
                         .seed = (int64_t)o->seed};
    r.archive.name = kiln_path_base(b->path);
    memcpy(r.archive.sha256, b->sha256, sizeof b->sha256);
    r.model.name = is_zoo ? words->model : kiln_path_base(words->model);
    memcpy(r.model.sha256, s->file_sha256, sizeof s->file_sha256);
    add_profiles(a, p, words, &r);
    add_data(a, s, &r);
    add_binds(a, o, words, &r);
    KILN_TRY(add_records(a, p, words, b->forecast, &r, err));
    KILN_TRY(kiln_package_time(&r.time_s, err));
    KILN_TRY(kiln_builder_here(a, &r.builder, err));
    *out = r;
    return KILN_OK;
}

kiln_status kiln_provenance_save(kiln_arena *a, const kiln_provenance *p,
                                 const char *archive, const char **path,
                                 kiln_err *err) {
    const char *to = kiln_format(a, "%s" KILN_PROVENANCE_ENDING, archive);
    kiln_provenance again;
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_provenance_write(&text, p);
    const kiln_status st =
        kiln_provenance_read(a, kiln_buf_str(&text), to, &again, err);
    if (st != KILN_OK) {
        kiln_note(err, "writing the provenance of '%s'; such names cannot be in it",
                  archive);
        return st;
    }
    *path = to;
    return kiln_file_write(to, text.p, text.n, err);
}
