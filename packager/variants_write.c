/* Several packages become one: what they read of parameters is put together, each
 * tensor of equal type and bytes once, and their plans say where it lies there. */
#include "packager/packager_internal.h"
#include "base/numbers.h"

#include <inttypes.h>
#include <string.h>

/* A package that is put together with others. */
typedef struct part {
    const char *folder;
    kiln_package_facts facts;
    kiln_str plan, params;
    kiln_safetensors tensors;
    uint64_t *moved; /* by tensor: where it lies in the shared parameters */
} part;

typedef struct shared {
    kiln_arena *arena;
    kiln_numbers known; /* by type and bytes: index of the tensor, plus 1 */
    KILN_VEC(kiln_package_tensor) tensor;
    KILN_VEC(kiln_str) piece; /* piece 0: the head */
    uint64_t bytes;
} shared;

static kiln_status open_part(kiln_arena *a, const char *archive, const char *folder,
                             part *p, kiln_err *err) {
    p->folder = folder;
    KILN_TRY(kiln_package_hold(a, archive, folder, &p->facts, err));
    if (p->facts.n_variants > 0)
        return kiln_fail(err, KILN_ERR_ARG, "'%s' has variants itself", archive);
    KILN_TRY(
        kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_PLAN), 0, &p->plan, err));
    KILN_TRY(kiln_file_map(a, kiln_path_join(a, folder, KILN_ENTRY_PARAMS), 0,
                           &p->params, err));
    return kiln_safetensors_read(a, p->params, p->params.n, KILN_ENTRY_PARAMS,
                                 &p->tensors, err);
}

/* ---- parameters ------------------------------------------------------------------- */

static void share(shared *s, part *p) {
    kiln_arena *a = s->arena;
    p->moved = kiln_array(a, uint64_t, p->tensors.n);
    for (size_t i = 0; i < p->tensors.n; i++) {
        const kiln_safetensor *t = &p->tensors.tensor[i];
        const kiln_str bytes = {p->params.p + p->tensors.data + t->begin,
                                (size_t)(t->end - t->begin)};
        char sha256[KILN_SHA256_HEX];
        kiln_sha256_of(bytes.p, bytes.n, sha256);
        const kiln_str key =
            kiln_str_from(kiln_format(a, "%s %s", sha256, kiln_type_text(a, &t->type)));
        const size_t at = kiln_numbers_get(&s->known, key);
        if (at > 0) {
            p->moved[i] = s->tensor.v[at - 1].offset;
            continue;
        }
        p->moved[i] = s->bytes;
        kiln_vec_push(a, &s->tensor,
                      ((kiln_package_tensor){t->name, t->type, s->bytes}));
        kiln_vec_push(a, &s->piece, bytes);
        kiln_numbers_set(a, &s->known, key, s->tensor.n);
        s->bytes += bytes.n;
    }
}

/* The tensor of the file that the plan's lies in; -1: in none. */
static int64_t find_tensor(const part *p, const kiln_plan_tensor *t) {
    size_t low = 0, high = p->tensors.n;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (p->tensors.tensor[middle].begin <= t->offset)
            low = middle;
        else
            high = middle;
    }
    const bool is_in = high > 0 && p->tensors.tensor[low].begin <= t->offset &&
                       t->bytes <= p->tensors.tensor[low].end - t->offset;
    return is_in && t->offset <= p->tensors.tensor[low].end ? (int64_t)low : -1;
}

/* A copy of the plan whose parameters lie where they are shared. */
static kiln_status move_plan(shared *s, part *p, kiln_err *err) {
    char error[KILN_PLAN_ERROR];
    kiln_plan plan;
    char *bytes = kiln_arena_dup(s->arena, p->plan.p, p->plan.n);
    kiln_plan_header *h = (void *)bytes;
    if (kiln_plan_check(bytes, p->plan.n, &plan, error) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, KILN_ENTRY_PLAN ": %s", error);
    kiln_plan_tensor *tensor = (void *)(bytes + h->tensors);
    for (uint32_t i = 0; i < h->n_tensors; i++) {
        if (tensor[i].place != KILN_PLAN_PARAM)
            continue;
        const int64_t at = tensor[i].bytes > 0 ? find_tensor(p, &tensor[i]) : -1;
        if (at < 0 && tensor[i].bytes > 0)
            return kiln_fail(err, KILN_ERR_PARSE,
                             KILN_ENTRY_PLAN ": tensor %" PRIu32
                                             " lies in no tensor of " KILN_ENTRY_PARAMS,
                             i);
        tensor[i].offset =
            at < 0 ? 0 : p->moved[at] + tensor[i].offset - p->tensors.tensor[at].begin;
    }
    h->param_bytes = s->bytes;
    if (kiln_plan_check(bytes, p->plan.n, &plan, error) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, KILN_ENTRY_PLAN ": %s", error);
    p->plan.p = bytes;
    p->facts.memory.params = s->bytes;
    return KILN_OK;
}

/* ---- entries ---------------------------------------------------------------------- */

typedef struct writing {
    shared shared;
    int64_t time_s;
    kiln_content content[KILN_PACKAGE_ALL_ENTRIES]; /* 0: the manifest */
    size_t n;
} writing;

static void add(writing *w, const char *name, const kiln_str *piece, size_t n_pieces) {
    w->content[w->n++] = (kiln_content){name, piece, n_pieces};
}

static kiln_str *keep(kiln_arena *a, kiln_str s) {
    return kiln_arena_dup(a, &s, sizeof s);
}

/* Of each entry but the bill of materials, which is made of all others' hashes. */
static kiln_status fill(writing *w, const part *p, const kiln_content *params,
                        kiln_package_entry *entry, kiln_content *content,
                        kiln_err *err) {
    kiln_arena *a = w->shared.arena;
    const kiln_package_facts *f = &p->facts;
    for (size_t k = 0; k < f->n_entries; k++) {
        const char *name = f->entry[k].name;
        kiln_str bytes = p->plan;
        content[k] = *params;
        if (strcmp(name, KILN_ENTRY_PARAMS) != 0) {
            if (strcmp(name, KILN_ENTRY_PLAN) != 0)
                KILN_TRY(kiln_file_map(a, kiln_path_join(a, p->folder, name), 0, &bytes,
                                       err));
            content[k] = (kiln_content){name, keep(a, bytes), 1};
        }
        kiln_content_describe(&content[k], &entry[k]);
    }
    return KILN_OK;
}

/* The package as it is among others: its facts follow; content, but for the parameters,
 * behind the manifests. */
static kiln_status complete(writing *w, size_t i, part *p, const kiln_content *params,
                            kiln_content *own, kiln_err *err) {
    kiln_arena *a = w->shared.arena;
    kiln_package_facts *f = &p->facts;
    kiln_package_entry *entry = kiln_array(a, kiln_package_entry, f->n_entries);
    KILN_TRY(fill(w, p, params, entry, own, err));
    f->entry = entry;
    for (size_t k = 0; k < f->n_entries; k++)
        if (strcmp(entry[k].name, KILN_ENTRY_SBOM) == 0) {
            own[k].piece = keep(a, kiln_package_sbom(a, f, w->time_s));
            kiln_content_describe(&own[k], &entry[k]);
        }
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_package_manifest(&text, f);
    add(w, kiln_path_join(a, kiln_variant_folder(a, i), KILN_ENTRY_MANIFEST),
        keep(a, kiln_buf_str(&text)), 1);
    return KILN_OK;
}

/* In the order of the archive: manifests, parameters, the variants' own, the list. */
static kiln_status add_all(writing *w, part *p, size_t n, kiln_err *err) {
    kiln_arena *a = w->shared.arena;
    const kiln_content params = {KILN_ENTRY_PARAMS, w->shared.piece.v,
                                 w->shared.piece.n};
    kiln_content(*own)[KILN_PACKAGE_MAX_ENTRIES] = kiln_arena_alloc(a, n * sizeof *own);
    kiln_package_facts *f = kiln_array(a, kiln_package_facts, n);
    for (size_t i = 0; i < n; i++) {
        KILN_TRY(complete(w, i, &p[i], &params, own[i], err));
        f[i] = p[i].facts;
    }
    KILN_TRY(kiln_variants_fit(f, n, err));
    w->content[w->n++] = params;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < f[i].n_entries; k++)
            if (strcmp(own[i][k].name, KILN_ENTRY_PARAMS) != 0)
                add(w, kiln_path_join(a, kiln_variant_folder(a, i), own[i][k].name),
                    own[i][k].piece, own[i][k].n_pieces);
    add(w, KILN_ENTRY_VARIANTS, keep(a, kiln_variants_text(a, f, n)), 1);
    return KILN_OK;
}

static kiln_str manifest_of(const writing *w, size_t n) {
    kiln_buf out;
    kiln_json_writer j;
    kiln_buf_init(&out, w->shared.arena);
    kiln_json_writer_init(&j, &out);
    kiln_json_begin_object(&j);
    kiln_json_member_str(&j, "format", "kiln package");
    kiln_json_member_i64(&j, "format_version", KILN_PACKAGE_FORMAT_OF_SEVERAL);
    kiln_json_name(&j, "variants");
    kiln_json_begin_array(&j);
    for (size_t i = 0; i < n; i++)
        kiln_json_put_string(&j,
                             kiln_str_from(kiln_variant_folder(w->shared.arena, i)));
    kiln_json_end_array(&j);
    kiln_json_name(&j, "entries");
    kiln_json_begin_array(&j);
    for (size_t i = 1; i < w->n; i++) {
        kiln_package_entry e;
        kiln_content_describe(&w->content[i], &e);
        kiln_json_begin_object(&j);
        kiln_json_member_str(&j, "name", e.name);
        kiln_json_member_i64(&j, "bytes", (int64_t)e.bytes);
        kiln_json_member_str(&j, "sha256", e.sha256);
        kiln_json_end_object(&j);
    }
    kiln_json_end_array(&j);
    kiln_json_end_object(&j);
    kiln_buf_puts(&out, "\n");
    return kiln_buf_str(&out);
}

static kiln_status write_all(kiln_arena *a, const char *const *archive, size_t n,
                             const char *path, int64_t time_s,
                             char sha256[KILN_SHA256_HEX], kiln_err *err) {
    writing *w = kiln_new(a, writing);
    part *p = kiln_array(a, part, n);
    const char *dir = NULL;
    w->shared.arena = a;
    w->time_s = time_s;
    w->n = 1;
    KILN_TRY(kiln_dir_temp(a, &dir, err));
    kiln_vec_push(a, &w->shared.piece, ((kiln_str){NULL, 0}));
    for (size_t i = 0; i < n; i++) {
        KILN_TRY(open_part(a, archive[i],
                           kiln_path_join(a, dir, kiln_variant_folder(a, i)), &p[i],
                           err));
        share(&w->shared, &p[i]);
    }
    w->shared.piece.v[0] = kiln_package_params_head(
        a, w->shared.tensor.v, w->shared.tensor.n, w->shared.bytes);
    for (size_t i = 0; i < n; i++)
        KILN_TRY(move_plan(&w->shared, &p[i], err));
    KILN_TRY(add_all(w, p, n, err));
    const kiln_str manifest = manifest_of(w, n);
    w->content[0] = (kiln_content){KILN_ENTRY_MANIFEST, &manifest, 1};
    kiln_package_list again; /* whoever reads it sees the same */
    KILN_TRY(kiln_package_list_read(a, manifest, &again, err));
    return kiln_archive_write(a, path, w->content, w->n, time_s, sha256, err);
}

kiln_status kiln_package_write_variants(const char *const *archive, size_t n,
                                        int64_t time_s, const char *path,
                                        char sha256[KILN_SHA256_HEX], kiln_err *err) {
    kiln_arena a = {0};
    char hex[KILN_SHA256_HEX];
    if (n < 2 || n > KILN_PACKAGE_MAX_VARIANTS)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "one archive has 2 to %d variants (shapes times profiles), "
                         "these are %zu",
                         KILN_PACKAGE_MAX_VARIANTS, n);
    const kiln_status st = write_all(&a, archive, n, path, time_s, hex, err);
    if (st != KILN_OK)
        kiln_note(err, "writing the package '%s'", path);
    else if (sha256 != NULL)
        memcpy(sha256, hex, sizeof hex);
    kiln_arena_fini(&a);
    return st;
}
