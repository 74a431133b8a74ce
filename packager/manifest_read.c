/* manifest.json, read: untrusted. */
#include "packager/packager_internal.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_PORTS = 4096,
    MAX_KERNELS = 1 << 16,
    MAX_STEPS = 1 << 20, /* of all kernels */
    MAX_TEXT = 256,      /* bytes of names that people read */
    MAX_THREADS = 1024
};
#define MAX_BYTES ((int64_t)1 << 40)
/* Of one call: a sum over all steps stays below 2^63. */
#define MAX_COST ((int64_t)1 << 42)

typedef struct reader {
    kiln_arena *arena;
    kiln_err *err;
    kiln_status status; /* of the first failure */
    size_t n_steps;
} reader;

static void refuse(reader *r, const char *where, const char *key, const char *what) {
    if (r->status == KILN_OK)
        r->status = kiln_fail(r->err, KILN_ERR_PARSE,
                              KILN_ENTRY_MANIFEST ": '%s%s%s' must be %s", where,
                              where[0] != '\0' ? "." : "", key, what);
}

static const char *text_of(reader *r, const kiln_json *o, const char *where,
                           const char *key) {
    const char *s = kiln_json_string(kiln_json_get(o, key), NULL);
    if (s == NULL)
        refuse(r, where, key, "a string");
    return s != NULL ? s : "";
}

/* Names that stand in file names and messages. */
static const char *name_of(reader *r, const kiln_json *o, const char *where,
                           const char *key) {
    const char *s = text_of(r, o, where, key);
    if (s[0] == '\0' || strlen(s) > MAX_TEXT)
        refuse(r, where, key, "a text of 1 to 256 bytes");
    return s;
}

static int64_t count_of(reader *r, const kiln_json *o, const char *where,
                        const char *key, int64_t most) {
    int64_t v = 0;
    if (kiln_json_i64(kiln_json_get(o, key), &v) && v >= 0 && v <= most)
        return v;
    refuse(r, where, key, kiln_format(r->arena, "a number from 0 to %" PRId64, most));
    return 0;
}

static double real_of(reader *r, const kiln_json *o, const char *where,
                      const char *key) {
    const kiln_json *v = kiln_json_get(o, key);
    const double x = kiln_json_number(v, -1);
    if (!kiln_json_is_number(v) || x < 0)
        refuse(r, where, key, "a number of at least 0");
    return x;
}

static const kiln_json *list_of(reader *r, const kiln_json *o, const char *where,
                                const char *key, size_t most, size_t *n) {
    const kiln_json *v = kiln_json_get(o, key);
    *n = kiln_json_size(v);
    if (!kiln_json_is_array(v) || *n > most) {
        refuse(r, where, key, kiln_format(r->arena, "a list of at most %zu", most));
        *n = 0;
    }
    return *n > 0 ? v : NULL;
}

static bool is_sha256(const char *s) {
    return strlen(s) == KILN_SHA256_HEX - 1 &&
           strspn(s, "0123456789abcdef") == KILN_SHA256_HEX - 1;
}

static const char *sha256_of(reader *r, const kiln_json *o, const char *where,
                             const char *key) {
    const char *s = text_of(r, o, where, key);
    if (is_sha256(s))
        return s;
    refuse(r, where, key, "64 hexadecimal digits");
    return "";
}

static void read_fixed(reader *r, const kiln_json *model, kiln_package_facts *f) {
    const kiln_json *list =
        list_of(r, model, "model", "fixed_inputs", MAX_PORTS, &f->n_fixed);
    kiln_package_fixed *fixed = kiln_array(r->arena, kiln_package_fixed, f->n_fixed);
    const kiln_json *o = kiln_json_first(list);
    for (size_t i = 0; i < f->n_fixed; i++, o = kiln_json_next(o)) {
        fixed[i].name = text_of(r, o, "fixed_inputs", "name");
        fixed[i].type = text_of(r, o, "fixed_inputs", "type");
        const char *sha256 = sha256_of(r, o, "fixed_inputs", "sha256");
        memcpy(fixed[i].sha256, sha256, strlen(sha256) + 1);
    }
    f->fixed = fixed;
}

static void read_model(reader *r, const kiln_json *root, kiln_package_facts *f) {
    const kiln_json *m = kiln_json_get(root, "model");
    f->model = name_of(r, m, "model", "name");
    f->version = name_of(r, m, "model", "version");
    f->source_sha256 = sha256_of(r, m, "model", "source_sha256");
    const kiln_json *licence = kiln_json_get(m, "licence");
    f->licence = kiln_json_string(licence, NULL);
    const bool is_said = licence != NULL && !kiln_json_is_null(licence);
    if (is_said && (f->licence == NULL || !kiln_package_is_licence(f->licence)))
        refuse(r, "model", "licence", "an SPDX expression");
    read_fixed(r, m, f);
    f->as_reference = kiln_json_get(m, "rounding") != NULL;
    if (f->as_reference && strcmp(text_of(r, m, "model", "rounding"), "reference") != 0)
        refuse(r, "model", "rounding", "'reference', or not there");
}

static void read_profile(reader *r, const kiln_json *root, kiln_package_facts *f) {
    if (r->status != KILN_OK)
        return;
    r->status = kiln_profile_read(r->arena, kiln_json_get(root, "profile"),
                                  KILN_ENTRY_MANIFEST ": profile", &f->profile, r->err);
    if (r->status != KILN_OK)
        return;
    if (strcmp(text_of(r, root, "", "architecture"), kiln_arch_name(f->profile.arch)))
        refuse(r, "", "architecture", "that of the profile");
    if (strcmp(text_of(r, root, "", "numerics"),
               kiln_numerics_name(f->profile.numerics)))
        refuse(r, "", "numerics", "that of the profile");
    if (kiln_json_get(root, "measure") != NULL)
        f->profile.measure = name_of(r, root, "", "measure");
}

/* Archives of before it was recorded, and those made outside of a repository, have
 * none.
 */
static const char *read_commit(reader *r, const kiln_json *root) {
    if (kiln_json_get(root, "commit") == NULL)
        return NULL;
    const char *commit = text_of(r, root, "", "commit");
    if (!kiln_is_commit(commit))
        refuse(r, "", "commit", "40 hexadecimal digits, maybe with '-modified'");
    return commit;
}

/* Archives of before this was asked do not say. */
static bool read_unproved(reader *r, const kiln_json *root) {
    const kiln_json *v = kiln_json_get(root, "proved");
    if (v != NULL && !kiln_json_is_bool(v))
        refuse(r, "", "proved", "true or false");
    return !kiln_json_bool(v, true);
}

static int read_threads(reader *r, const kiln_json *root) {
    int64_t n = 1;
    const kiln_json *v = kiln_json_get(root, "threads");
    if (v != NULL && (!kiln_json_i64(v, &n) || n < 1 || n > MAX_THREADS))
        refuse(r, "", "threads", "a number from 1 to 1024");
    return (int)n;
}

static void read_port(reader *r, const kiln_json *o, const char *where,
                      kiln_package_port *out) {
    size_t rank = 0;
    kiln_dtype dtype = KILN_F32;
    out->name = text_of(r, o, where, "name");
    out->dtype = text_of(r, o, where, "dtype");
    if (!kiln_dtype_parse(kiln_str_from(out->dtype), &dtype))
        refuse(r, where, "dtype", "an element type");
    const kiln_json *shape = list_of(r, o, where, "shape", KILN_PLAN_MAX_RANK, &rank);
    out->rank = (int)rank;
    const kiln_json *v = kiln_json_first(shape);
    for (size_t i = 0; i < rank; i++, v = kiln_json_next(v))
        if (!kiln_json_i64(v, &out->dim[i]) || out->dim[i] < 0)
            refuse(r, where, "shape", "numbers of at least 0");
    kiln_err why = {.status = KILN_OK};
    const kiln_type t = kiln_type_make(dtype, out->rank, out->dim);
    if (r->status == KILN_OK && kiln_type_check(&t, &why) != KILN_OK)
        refuse(r, where, "shape", "that of a value");
}

static const kiln_package_port *read_ports(reader *r, const kiln_json *root,
                                           const char *key, size_t *n) {
    const kiln_json *list = list_of(r, root, "", key, MAX_PORTS, n);
    kiln_package_port *port = kiln_array(r->arena, kiln_package_port, *n);
    const kiln_json *o = kiln_json_first(list);
    for (size_t i = 0; i < *n; i++, o = kiln_json_next(o))
        read_port(r, o, key, &port[i]);
    return port;
}

static void read_memory(reader *r, const kiln_json *root, kiln_package_memory *m) {
    const kiln_json *o = kiln_json_get(root, "memory");
    m->arena = (uint64_t)count_of(r, o, "memory", "arena_bytes", MAX_BYTES);
    m->lower_bound = (uint64_t)count_of(r, o, "memory", "lower_bound_bytes", MAX_BYTES);
    m->params = (uint64_t)count_of(r, o, "memory", "param_bytes", MAX_BYTES);
    m->workspace = (uint64_t)count_of(r, o, "memory", "workspace_bytes", MAX_BYTES);
    m->scratch = (uint64_t)count_of(r, o, "memory", "scratch_bytes", MAX_BYTES);
    if (kiln_json_get(o, "packed_bytes") != NULL) /* not in older archives */
        m->packed = (uint64_t)count_of(r, o, "memory", "packed_bytes", MAX_BYTES);
    const char *pack = kiln_json_string(kiln_json_get(root, "pack"), NULL);
    if (kiln_json_get(root, "pack") != NULL &&
        (pack == NULL || strcmp(pack, kiln_package_pack(m)) != 0))
        refuse(r, "", "pack",
               kiln_format(r->arena, "'%s', as 'memory.packed_bytes' has it",
                           kiln_package_pack(m)));
}

/* ---- the ledger ------------------------------------------------------------------ */

/* Knobs: words, numbers, or short lists of them. */
static bool put_knob(kiln_json_writer *w, const kiln_json *v, int depth) {
    if (kiln_json_is_string(v)) {
        kiln_json_put_string(w, kiln_str_from(kiln_json_string(v, "")));
        return true;
    }
    if (kiln_json_is_number(v)) {
        kiln_json_put_f64(w, kiln_json_number(v, 0));
        return true;
    }
    if (!kiln_json_is_array(v) || depth > 1)
        return false;
    kiln_json_begin_array(w);
    for (const kiln_json *e = kiln_json_first(v); e != NULL; e = kiln_json_next(e))
        if (!put_knob(w, e, depth + 1))
            return false;
    kiln_json_end_array(w);
    return true;
}

/* Archives made before it was recorded have none. */
static void read_code(reader *r, const kiln_json *o, kiln_package_kernel *k) {
    const kiln_json *sha256 = kiln_json_get(o, "code_sha256");
    if (!kiln_json_is_string(sha256))
        return;
    k->code_sha256 = sha256_of(r, o, "kernels", "code_sha256");
    k->code_bytes = count_of(r, o, "kernels", "code_bytes", MAX_BYTES);
}

static const char *read_config(reader *r, const kiln_json *o) {
    const kiln_json *config = kiln_json_get(o, "configuration");
    kiln_buf text;
    kiln_json_writer w;
    kiln_buf_init(&text, r->arena);
    kiln_json_writer_init(&w, &text);
    w.compact_from = 0;
    kiln_json_begin_object(&w);
    bool ok = kiln_json_is_object(config);
    for (const kiln_json *m = ok ? kiln_json_first(config) : NULL; m != NULL && ok;
         m = kiln_json_next(m)) {
        kiln_json_name(&w, kiln_json_key(m));
        ok = put_knob(&w, m, 0);
    }
    if (ok) {
        kiln_json_end_object(&w);
        return text.p;
    }
    refuse(r, "kernels", "configuration", "an object of words and numbers");
    return "{}";
}

static void read_kernel(reader *r, const kiln_json *o, kiln_package_kernel *k) {
    *k = (kiln_package_kernel){.symbol = name_of(r, o, "kernels", "symbol"),
                               .origin = name_of(r, o, "kernels", "origin"),
                               .tmpl = name_of(r, o, "kernels", "template"),
                               .config = read_config(r, o),
                               .workload = text_of(r, o, "kernels", "workload"),
                               .muladds =
                                   count_of(r, o, "kernels", "multiply_adds", MAX_COST),
                               .flops = count_of(r, o, "kernels", "flops", MAX_COST),
                               .bytes = count_of(r, o, "kernels", "bytes", MAX_COST)};
    read_code(r, o, k);
    const kiln_json *list =
        list_of(r, o, "kernels", "steps", MAX_STEPS - r->n_steps, &k->n_steps);
    r->n_steps += k->n_steps;
    const char **step = kiln_array(r->arena, const char *, k->n_steps);
    const kiln_json *v = kiln_json_first(list);
    for (size_t i = 0; i < k->n_steps; i++, v = kiln_json_next(v)) {
        step[i] = kiln_json_string(v, NULL);
        if (step[i] == NULL)
            refuse(r, "kernels", "steps", "a list of strings");
    }
    k->step = step;
}

static void read_kernels(reader *r, const kiln_json *root, kiln_package_facts *f) {
    const kiln_json *list = list_of(r, root, "", "kernels", MAX_KERNELS, &f->n_kernels);
    kiln_package_kernel *kernel =
        kiln_array(r->arena, kiln_package_kernel, f->n_kernels);
    const kiln_json *o = kiln_json_first(list);
    for (size_t i = 0; i < f->n_kernels; i++, o = kiln_json_next(o))
        read_kernel(r, o, &kernel[i]);
    f->kernel = kernel;
}

/* Absent: rules decided. */
static void read_searched(reader *r, const kiln_json *root, kiln_package_facts *f) {
    if (kiln_json_get(root, "layouts") == NULL)
        return;
    const kiln_json *list = list_of(r, root, "", "layouts", MAX_STEPS, &f->n_searched);
    kiln_package_layouts *searched =
        kiln_array(r->arena, kiln_package_layouts, f->n_searched);
    const kiln_json *o = kiln_json_first(list);
    for (size_t i = 0; i < f->n_searched; i++, o = kiln_json_next(o))
        searched[i] = (kiln_package_layouts){text_of(r, o, "layouts", "step"),
                                             text_of(r, o, "layouts", "types")};
    f->searched = searched;
}

/* ---- entries --------------------------------------------------------------------- */

static bool is_known(const char *name) {
    static const char *const known[] = {
        KILN_ENTRY_GRAPH, KILN_ENTRY_LIB,      KILN_ENTRY_PARAMS, KILN_ENTRY_PLAN,
        KILN_ENTRY_SBOM,  KILN_ENTRY_EXPECTED, KILN_ENTRY_INPUTS};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return kiln_package_module_number(name) > 0;
}
enum { N_KNOWN = 7 };

/* One for each further device: sorted, they are numbered from 1. */
static void check_modules(reader *r, const kiln_package_facts *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_entries; i++) {
        const size_t number = kiln_package_module_number(f->entry[i].name);
        if (number > 0 && number != ++n)
            refuse(r, "", "entries",
                   kiln_format(r->arena, "with device %zu's before %s", n,
                               f->entry[i].name));
    }
    if (n + 1 != f->n_devices)
        refuse(r, "", "entries",
               kiln_format(r->arena, "with a library for each of %zu devices",
                           f->n_devices));
    if (f->n_entries != N_KNOWN + n)
        refuse(r, "", "entries",
               kiln_format(r->arena, "all %d that packages have, there are %zu",
                           N_KNOWN, f->n_entries - n));
}

/* All that there are, and each once: sorted, they are the only list. */
static void check_entries(reader *r, const kiln_package_facts *f) {
    for (size_t i = 0; i < f->n_entries; i++) {
        const char *name = f->entry[i].name;
        if (!is_known(name))
            refuse(r, "entries", "name",
                   kiln_format(r->arena, "an entry of packages, is '%s'",
                               kiln_str_printable(r->arena, kiln_str_from(name), 64)));
        if (i > 0 && strcmp(f->entry[i - 1].name, name) >= 0)
            refuse(r, "", "entries", "sorted by name, each once");
    }
    check_modules(r, f);
}

/* Those of one device, the host, do not say so. */
static void read_devices(reader *r, const kiln_json *root, kiln_package_facts *f) {
    const char **device = kiln_array(r->arena, const char *, KILN_PLAN_MAX_DEVICES);
    const kiln_json *list = kiln_json_get(root, "devices");
    f->device = device;
    f->n_devices = 1;
    device[0] = "host";
    if (list == NULL)
        return;
    list = list_of(r, root, "", "devices", KILN_PLAN_MAX_DEVICES, &f->n_devices);
    const kiln_json *v = kiln_json_first(list);
    for (size_t i = 0; i < f->n_devices; i++, v = kiln_json_next(v)) {
        device[i] = kiln_json_string(v, NULL);
        if (device[i] == NULL)
            refuse(r, "", "devices", "a list of strings");
    }
    if (f->n_devices < 2)
        refuse(r, "", "devices", "several, or not there");
}

static void read_entries(reader *r, const kiln_json *root, kiln_package_facts *f) {
    const kiln_json *list =
        list_of(r, root, "", "entries", KILN_PACKAGE_MAX_ENTRIES, &f->n_entries);
    kiln_package_entry *entry = kiln_array(r->arena, kiln_package_entry, f->n_entries);
    const kiln_json *o = kiln_json_first(list);
    for (size_t i = 0; i < f->n_entries; i++, o = kiln_json_next(o)) {
        entry[i].name = text_of(r, o, "entries", "name");
        entry[i].bytes =
            (uint64_t)count_of(r, o, "entries", "bytes", (int64_t)KILN_TAR_MAX_NUMBER);
        const char *sha256 = sha256_of(r, o, "entries", "sha256");
        memcpy(entry[i].sha256, sha256, strlen(sha256) + 1);
    }
    f->entry = entry;
    check_entries(r, f);
}

static kiln_status check_format(const kiln_json *root, kiln_err *err) {
    int64_t version = 0;
    if (strcmp(kiln_json_string(kiln_json_get(root, "format"), ""), "kiln package"))
        return kiln_fail(err, KILN_ERR_PARSE,
                         KILN_ENTRY_MANIFEST ": 'format' must be 'kiln package'");
    if (!kiln_json_i64(kiln_json_get(root, "format_version"), &version) ||
        version != KILN_PACKAGE_FORMAT)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         KILN_ENTRY_MANIFEST ": format version %" PRId64
                                             " is not read, only %d and %d; use the "
                                             "kiln that made it",
                         version, KILN_PACKAGE_FORMAT, KILN_PACKAGE_FORMAT_OF_SEVERAL);
    return KILN_OK;
}

kiln_status kiln_manifest_read(kiln_arena *a, kiln_str text, kiln_package_facts *out,
                               kiln_err *err) {
    const kiln_json *root = NULL;
    kiln_package_facts f = {.model = NULL};
    reader r = {.arena = a, .err = err};
    if (text.n > KILN_PACKAGE_MAX_MANIFEST)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         KILN_ENTRY_MANIFEST ": %zu bytes; at most %d are read", text.n,
                         KILN_PACKAGE_MAX_MANIFEST);
    KILN_TRY(kiln_json_parse(a, text, KILN_ENTRY_MANIFEST, &root, err));
    KILN_TRY(check_format(root, err));
    f.kiln_version = name_of(&r, root, "", "kiln");
    f.kiln_commit = read_commit(&r, root);
    f.llvm_version = name_of(&r, root, "", "llvm");
    f.lld_version = name_of(&r, root, "", "lld");
    f.zstd_version = name_of(&r, root, "", "zstd");
    read_model(&r, root, &f);
    read_profile(&r, root, &f);
    f.threads = read_threads(&r, root);
    f.input = read_ports(&r, root, "inputs", &f.n_inputs);
    f.output = read_ports(&r, root, "outputs", &f.n_outputs);
    read_memory(&r, root, &f.memory);
    f.is_unproved = read_unproved(&r, root);
    const kiln_json *t = kiln_json_get(root, "tolerance");
    f.tolerance.relative = real_of(&r, t, "tolerance", "relative");
    f.tolerance.rms = real_of(&r, t, "tolerance", "rms");
    f.tolerance.absolute = real_of(&r, t, "tolerance", "absolute");
    read_kernels(&r, root, &f);
    read_searched(&r, root, &f);
    read_devices(&r, root, &f);
    read_entries(&r, root, &f);
    if (r.status == KILN_OK)
        *out = f;
    return r.status;
}
