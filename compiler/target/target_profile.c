/* Profiles as JSON, by their names, and what may run where. */
#include "compiler/target/target_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- JSON ------------------------------------------------------------------------ */

void kiln_profile_json(kiln_buf *out, const kiln_profile *p) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_profile_put(&w, p);
}

static void put_code(kiln_json_writer *w, const kiln_profile *p) {
    kiln_profile_put_machine(w, p);
    if (kiln_profile_is_gpu(p)) {
        kiln_json_name(w, "gpu");
        kiln_gpu_put(w, &p->gpu);
        if (p->host != NULL)
            kiln_json_member_str(w, "host", p->host);
        return;
    }
    kiln_json_name(w, "core");
    kiln_core_put(w, &p->core);
    if (p->device != NULL) {
        kiln_json_name(w, "device");
        kiln_profile_put(w, p->device);
    }
}

void kiln_profile_put(kiln_json_writer *w, const kiln_profile *p) {
    KILN_ASSERT(p->name != NULL, "a profile that was not filled in");
    kiln_json_begin_object(w);
    put_code(w, p);
    kiln_json_end_object(w);
}

void kiln_profile_document(kiln_buf *out, const kiln_profile *p) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    put_code(&w, p);
    if (p->measure != NULL)
        kiln_json_member_str(&w, "measure", p->measure);
    if (p->baseline != NULL) {
        kiln_json_name(&w, "baselines");
        kiln_json_begin_row(&w);
        for (int i = 0; p->baseline[i] != NULL; i++)
            kiln_json_put_string(&w, kiln_str_from(p->baseline[i]));
        kiln_json_end_array(&w);
    }
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}

typedef struct reader {
    kiln_arena *arena;
    const kiln_json *root;
    const char *path;
    kiln_err *err;
    kiln_status status; /* of the first failure */
} reader;

static void need(reader *r, bool ok, const char *key, const char *what) {
    if (!ok && r->status == KILN_OK)
        r->status = kiln_fail(r->err, KILN_ERR_PARSE, "%s: '%s' must be %s", r->path,
                              key, what);
}

static const char *text_of(reader *r, const char *key) {
    const char *s = kiln_json_string(kiln_json_get(r->root, key), NULL);
    need(r, s != NULL, key, "a string");
    return s != NULL ? kiln_str_dup(r->arena, s) : "";
}

static int64_t count_of(reader *r, const char *key, int64_t min, int64_t max) {
    int64_t v = 0;
    const bool ok =
        kiln_json_i64(kiln_json_get(r->root, key), &v) && v >= min && v <= max;
    if (!ok && r->status == KILN_OK)
        r->status =
            kiln_fail(r->err, KILN_ERR_PARSE,
                      "%s: '%s' must be a whole number from %" PRId64 " to %" PRId64,
                      r->path, key, min, max);
    return ok ? v : min;
}

/* May be left out. */
static bool flag_of(reader *r, const char *key) {
    const kiln_json *v = kiln_json_get(r->root, key);
    need(r, v == NULL || kiln_json_is_bool(v), key, "true or false");
    return kiln_json_bool(v, false);
}

static int word_of(reader *r, const char *key, const char *const *words, int n,
                   const char *what) {
    const char *s = text_of(r, key);
    for (int i = 0; i < n; i++)
        if (strcmp(s, words[i]) == 0)
            return i;
    need(r, false, key, what);
    return 0;
}

static kiln_arch arch_of(reader *r) {
    const char *word[KILN_N_ARCHS], *all = "";
    for (int i = 0; i < KILN_N_ARCHS; i++) {
        word[i] = kiln_arch_name((kiln_arch)i);
        all = kiln_format(r->arena, "%s%s'%s'", all, i == 0 ? "" : " or ", word[i]);
    }
    return (kiln_arch)word_of(r, "arch", word, KILN_N_ARCHS, all);
}

/* Texts go to LLVM, which ends the process on some that it does not know. */
static bool is_plain(const char *s) {
    return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                     "_-+,.") == strlen(s);
}

/* Both may be left out. */
static void read_measuring(reader *r, kiln_profile *p) {
    const kiln_json *list = kiln_json_get(r->root, "baselines");
    const size_t n = kiln_json_size(list);
    if (kiln_json_get(r->root, "measure") != NULL) {
        p->measure = text_of(r, "measure");
        need(r, is_plain(p->measure) && p->measure[0] != '\0', "measure",
             "a device's name");
    }
    if (list == NULL)
        return;
    need(r, kiln_json_is_array(list) && n <= KILN_PROFILE_MAX_BASELINES, "baselines",
         "a list of at most 32 names");
    if (r->status != KILN_OK)
        return;
    const char **name = kiln_array(r->arena, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const char *s = kiln_json_string(kiln_json_at(list, i), "");
        need(r, s[0] != '\0' && is_plain(s), "baselines", "a list of names");
        name[i] = kiln_str_dup(r->arena, s);
    }
    p->baseline = name;
}

/* A GPU's profile has these, and no core. */
static void read_gpu(reader *r, kiln_profile *p) {
    if (r->status == KILN_OK)
        r->status =
            kiln_gpu_read(kiln_json_get(r->root, "gpu"), r->path, &p->gpu, r->err);
    need(r, kiln_json_get(r->root, "core") == NULL, "core",
         "left out where the profile is a GPU's");
    p->host = "native";
    if (kiln_json_get(r->root, "host") != NULL) {
        p->host = text_of(r, "host");
        need(r, is_plain(p->host) && p->host[0] != '\0', "host", "a profile's name");
    }
}

/* May be left out, as older kilns did. */
static void read_core(reader *r, kiln_profile *p) {
    const kiln_json *core = kiln_json_get(r->root, "core");
    p->core = kiln_core_default(p->arch, p->vector_bytes);
    if (core != NULL && r->status == KILN_OK)
        r->status = kiln_core_read(core, r->path, &p->core, r->err);
}

/* May be left out: a CPU alone. A device has none of its own. */
static void read_device(reader *r, kiln_profile *p) {
    const kiln_json *json = kiln_json_get(r->root, "device");
    kiln_profile *device = kiln_new(r->arena, kiln_profile);
    if (json == NULL || r->status != KILN_OK)
        return;
    need(r, kiln_json_get(json, "device") == NULL, "device",
         "a profile without a device of its own");
    if (r->status == KILN_OK)
        r->status = kiln_profile_read(r->arena, json,
                                      kiln_format(r->arena, "%s: device", r->path),
                                      device, r->err);
    need(r, r->status != KILN_OK || kiln_arch_of(device->arch)->kind == KILN_TARGET_GPU,
         "device", "the profile of a GPU");
    p->device = device;
}

static void read_all(reader *r, kiln_profile *p) {
    const char *const numerics[] = {kiln_numerics_name(KILN_NUMERICS_FAST),
                                    kiln_numerics_name(KILN_NUMERICS_STRICT)};
    const int64_t bytes = (int64_t)1 << 40;
    p->name = text_of(r, "name");
    p->arch = arch_of(r);
    p->triple = text_of(r, "triple");
    p->cpu = text_of(r, "cpu");
    p->features = text_of(r, "features");
    need(r, is_plain(p->triple), "triple", "letters, digits and '_-+,.'");
    need(r, is_plain(p->cpu), "cpu", "letters, digits and '_-+,.'");
    need(r, is_plain(p->features), "features", "letters, digits and '_-+,.'");
    p->cores = (int)count_of(r, "cores", 1, 4096);
    p->vector_bytes = (int)count_of(r, "vector_bytes", 16, 64);
    need(r, (p->vector_bytes & (p->vector_bytes - 1)) == 0, "vector_bytes",
         "16, 32 or 64");
    p->vector_registers = (int)count_of(r, "vector_registers", 8, 64);
    p->l1d_bytes = count_of(r, "l1d_bytes", 0, bytes);
    p->l2_bytes = count_of(r, "l2_bytes", 0, bytes);
    p->l3_bytes = count_of(r, "l3_bytes", 0, bytes);
    p->has_fma = flag_of(r, "has_fma");
    p->has_vnni = flag_of(r, "has_vnni");
    p->has_dotprod = flag_of(r, "has_dotprod");
    p->has_bf16 = flag_of(r, "has_bf16");
    p->has_f16 = flag_of(r, "has_f16");
    p->numerics =
        (kiln_numerics)word_of(r, "numerics", numerics, 2, "'fast' or 'strict'");
    if (r->status == KILN_OK && kiln_profile_is_gpu(p)) {
        read_gpu(r, p);
    } else {
        need(r, kiln_json_get(r->root, "gpu") == NULL, "gpu",
             "left out where the profile is a CPU's");
        read_core(r, p);
    }
    read_measuring(r, p);
    read_device(r, p);
}

/* Of a file that somebody wrote: a member with a slip of the pen would count for
 * nothing, silently. Inside of archives a newer kiln may say more. */
static kiln_status check_members(kiln_arena *a, const kiln_json *root, const char *path,
                                 kiln_err *err) {
    static const char *const known[] = {
        "name",    "arch",      "triple",      "cpu",       "features",
        "cores",   "l1d_bytes", "l2_bytes",    "l3_bytes",  "vector_bytes",
        "has_fma", "has_vnni",  "has_dotprod", "has_bf16",  "vector_registers",
        "has_f16", "numerics",  "measure",     "baselines", "core",
        "gpu",     "host",      "device"};
    for (const kiln_json *m = kiln_json_first(root); m != NULL; m = kiln_json_next(m)) {
        const char *key = kiln_json_key(m);
        bool found = key == NULL; /* no object: the rest says so */
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            found = found || strcmp(key, known[i]) == 0;
        if (!found)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "%s: a profile has no member '%s'; 'kiln profile show "
                             "native' prints all that there are",
                             path, kiln_str_printable(a, kiln_str_from(key), 64));
    }
    const char *core = kiln_core_unknown(kiln_json_get(root, "core"));
    const char *gpu = kiln_gpu_unknown(kiln_json_get(root, "gpu"));
    if (core != NULL || gpu != NULL)
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "%s: a profile's '%s' has no member '%s'; 'kiln profile show %s' prints "
            "all "
            "that there are",
            path, core != NULL ? "core" : "gpu",
            kiln_str_printable(a, kiln_str_from(core != NULL ? core : gpu), 64),
            core != NULL ? "native" : kiln_gpu_profile_at(0)->name);
    return KILN_OK;
}

static const char *shipped_names(kiln_arena *a) {
    const char *all = "";
    for (int i = 0; kiln_profile_at(i) != NULL; i++)
        all = kiln_format(a, "%s, %s", all, kiln_profile_at(i)->name);
    for (int i = 0; kiln_cpu_profile_at(i) != NULL; i++)
        all = kiln_format(a, "%s, %s", all, kiln_cpu_profile_at(i)->name);
    for (int i = 0; kiln_gpu_profile_at(i) != NULL; i++)
        all = kiln_format(a, "%s, %s", all, kiln_gpu_profile_at(i)->name);
    return all;
}

kiln_status kiln_profile_find(kiln_arena *a, const char *name_or_path,
                              kiln_profile *out, kiln_err *err) {
    const kiln_profile *shipped = kiln_profile_shipped(name_or_path);
    if (shipped != NULL) {
        *out = *shipped;
        return KILN_OK;
    }
    if (strcmp(name_or_path, "native") == 0)
        return kiln_profile_detect(a, out, err);
    if (!kiln_file_exists(name_or_path))
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' is no profile and no file; profiles: native%s",
                         name_or_path, shipped_names(a));
    const kiln_json *root = NULL;
    KILN_TRY(kiln_json_read(a, name_or_path, &root, err));
    KILN_TRY(check_members(a, root, name_or_path, err));
    return kiln_profile_read(a, root, name_or_path, out, err);
}

kiln_status kiln_profile_beside(kiln_arena *a, const kiln_profile *host,
                                const kiln_profile *device, kiln_profile *out,
                                kiln_err *err) {
    if (kiln_arch_of(host->arch)->kind != KILN_TARGET_CPU ||
        kiln_arch_of(device->arch)->kind != KILN_TARGET_GPU)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "a GPU's profile wants a CPU's as its host: '%s' is a %s's, "
            "'%s' a %s's",
            device->name, kiln_target_kind_name(kiln_arch_of(device->arch)->kind),
            host->name, kiln_target_kind_name(kiln_arch_of(host->arch)->kind));
    const kiln_profile *copy = kiln_arena_dup(a, device, sizeof *device);
    *out = *host;
    out->name = copy->name;
    out->numerics = copy->numerics;
    out->device = copy;
    return KILN_OK;
}

kiln_status kiln_profile_read(kiln_arena *a, const kiln_json *json, const char *where,
                              kiln_profile *out, kiln_err *err) {
    reader r = {.arena = a, .root = json, .path = where, .err = err};
    kiln_profile p = {.name = NULL};
    read_all(&r, &p);
    if (r.status == KILN_OK)
        *out = p;
    return r.status;
}

/* ---- where it runs --------------------------------------------------------------- */

bool kiln_profile_runs_on(const kiln_profile *p, const kiln_profile *machine,
                          char missing[128]) {
    const char *what = NULL;
    missing[0] = '\0';
    if (p->arch != machine->arch)
        what = kiln_arch_name(p->arch);
    else if (p->vector_bytes > machine->vector_bytes)
        what = "wider vectors";
    else if (p->vector_registers > machine->vector_registers)
        what = "more vector registers";
    else if (p->has_fma && !machine->has_fma)
        what = "fma";
    else if (p->has_vnni && !machine->has_vnni)
        what = "vnni";
    else if (p->has_dotprod && !machine->has_dotprod)
        what = "dotprod";
    else if (p->has_bf16 && !machine->has_bf16)
        what = "bf16";
    else if (p->has_f16 && !machine->has_f16)
        what = "f16";
    for (const kiln_need *n = kiln_arch_of(p->arch)->need;
         what == NULL && n != NULL && n->name != NULL; n++)
        if (n->vector_bytes != KILN_NEED_OF_LENGTH && kiln_need_holds(n, p) &&
            !kiln_need_holds(n, machine))
            what = n->name;
    if (what == NULL)
        return true;
    snprintf(missing, 128, "'%s' needs %s, which '%s' has not", p->name, what,
             machine->name);
    return false;
}
