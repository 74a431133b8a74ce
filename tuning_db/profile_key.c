/* The key of a profile: what tells two of them apart as far as records go.
 *
 * Chosen fields of the profile's JSON, by name: the instructions that code may use, the
 * vectors and registers it is laid out in, the caches of one core, and among how many
 * cores work is cut. Not its name; not the caches that others share, which a virtual
 * machine reports as it likes; not how code is measured; not numerics, which a task
 * says by itself; and nothing that a later kiln adds to profiles. Of a GPU its limits
 * and caches too (version 2), but neither its peak nor its memory's rate, which templates
 * guess by.
 *
 * A field that is missing, 0, false or empty is not written. So one that joins the list
 * some day, with KILN_DB_KEY_VERSION counted up, leaves every key as it was but those
 * of the machines that have it. */
#include <string.h>

#include "tuning_db/tuning_db_internal.h"

static const char *const key_field[] = {
    "arch",     "triple",      "cpu",      "features",        "has_fma",
    "has_vnni", "has_dotprod", "has_bf16", "has_f16",         "vector_bytes",
    "cores",    "l1d_bytes",   "l2_bytes", "vector_registers"};
enum { N_KEY_FIELDS = sizeof key_field / sizeof key_field[0] };

/* Members of the member "gpu". */
static const char *const gpu_field[] = {"warp",
                                        "block_threads",
                                        "shared_bytes",
                                        "registers",
                                        "processors",
                                        "processor_threads",
                                        "processor_registers",
                                        "l2_kib",
                                        "has_tensor_cores"};
enum { N_GPU_FIELDS = sizeof gpu_field / sizeof gpu_field[0] };

static bool is_listed(kiln_str field, const char *const *list, int n) {
    for (int i = 0; i < n; i++)
        if (kiln_str_is(field, list[i]))
            return true;
    return false;
}

bool kiln_db_profile_key_has(kiln_str field) {
    return is_listed(field, key_field, N_KEY_FIELDS) ||
           is_listed(field, gpu_field, N_GPU_FIELDS);
}

static bool is_neutral(const kiln_json *v) {
    return v == NULL || (kiln_json_is_bool(v) && !kiln_json_bool(v, true)) ||
           (kiln_json_is_number(v) && kiln_json_number(v, 1) == 0) ||
           (kiln_json_string(v, NULL) != NULL && kiln_json_string(v, "x")[0] == '\0');
}

static void put_fields(kiln_json_writer *w, const kiln_json *from,
                       const char *const *list, int n) {
    for (int i = 0; i < n; i++) {
        const kiln_json *v = kiln_json_get(from, list[i]);
        if (is_neutral(v))
            continue;
        kiln_json_name(w, list[i]);
        kiln_json_put(w, v);
    }
}

/* NULL: the text is no profile. */
static const char *key_text(kiln_arena *scratch, const char *profile_json) {
    const kiln_json *profile = NULL;
    kiln_json_writer w;
    kiln_buf out;
    if (kiln_json_parse(scratch, kiln_str_from(profile_json), "profile", &profile,
                        NULL) != KILN_OK ||
        kiln_json_string(kiln_json_get(profile, "arch"), NULL) == NULL)
        return NULL;
    kiln_buf_init(&out, scratch);
    kiln_json_writer_init(&w, &out);
    kiln_json_begin_object(&w);
    put_fields(&w, profile, key_field, N_KEY_FIELDS);
    const kiln_json *gpu = kiln_json_get(profile, "gpu");
    if (kiln_json_is_object(gpu)) {
        kiln_json_name(&w, "gpu");
        kiln_json_begin_object(&w);
        put_fields(&w, gpu, gpu_field, N_GPU_FIELDS);
        kiln_json_end_object(&w);
    }
    kiln_json_end_object(&w);
    return out.p;
}

void kiln_db_profile_key(const char *profile_json, char hex[KILN_SHA256_HEX]) {
    kiln_arena scratch;
    kiln_arena_init(&scratch);
    const char *text = key_text(&scratch, profile_json);
    if (text == NULL)
        text = profile_json;
    kiln_sha256_of(text, strlen(text), hex);
    kiln_arena_fini(&scratch);
}

/* ---- keys of rows ------------------------------------------------------------------
 */

static kiln_status write_key(kiln_db *db, int64_t id, const char *json, kiln_err *err) {
    char key[KILN_SHA256_HEX];
    kiln_query q = {0};
    kiln_db_profile_key(json, key);
    kiln_status st = kiln_query_open(
        db->sql, "UPDATE profile SET key = ?2, key_version = ?3 WHERE id = ?1", &q,
        err);
    if (st == KILN_OK) {
        kiln_query_i64(&q, 1, id);
        kiln_query_text(&q, 2, key);
        kiln_query_i64(&q, 3, KILN_DB_KEY_VERSION);
        st = kiln_query_run(&q, err);
    }
    kiln_query_close(&q);
    return st;
}

typedef struct keyless {
    int64_t id;
    const char *json;
} keyless;

/* Of the rows that another version wrote. */
static kiln_status write_keys(kiln_db *db, kiln_arena *scratch, kiln_err *err) {
    KILN_VEC(keyless) row = {0};
    kiln_query q = {0};
    bool has_row = false;
    kiln_status st = kiln_query_open(
        db->sql, "SELECT id, json FROM profile WHERE key_version <> ?1", &q, err);
    if (st == KILN_OK)
        kiln_query_i64(&q, 1, KILN_DB_KEY_VERSION);
    while (st == KILN_OK && (st = kiln_query_step(&q, &has_row, err)) == KILN_OK &&
           has_row) {
        const keyless k = {kiln_query_get_i64(&q, 0),
                           kiln_query_get_text(&q, 1, scratch)};
        kiln_vec_push(scratch, &row, k);
    }
    kiln_query_close(&q);
    for (size_t i = 0; i < row.n && st == KILN_OK; i++)
        st = write_key(db, row.v[i].id, row.v[i].json, err);
    return st;
}

static kiln_status has_old_keys(kiln_db *db, bool *out, kiln_err *err) {
    kiln_query q = {0};
    KILN_TRY(kiln_sql_has_column(db->sql, "profile", "key_version", out, err));
    *out = !*out;
    if (*out)
        return KILN_OK;
    kiln_status st = kiln_query_open(
        db->sql, "SELECT 1 FROM profile WHERE key_version <> ?1 LIMIT 1", &q, err);
    if (st == KILN_OK) {
        kiln_query_i64(&q, 1, KILN_DB_KEY_VERSION);
        st = kiln_query_step(&q, out, err);
    }
    kiln_query_close(&q);
    return st;
}

kiln_status kiln_db_update_keys(kiln_db *db, bool read_only, kiln_err *err) {
    kiln_arena scratch;
    bool is_old = false;
    kiln_arena_init(&scratch);
    kiln_status st = has_old_keys(db, &is_old, err);
    if (st == KILN_OK && is_old && read_only) {
        st = kiln_sql_shadow(db->sql, "profile",
                             "id, hash, name, json, '' AS key, 0 AS key_version", err);
        if (st == KILN_OK)
            st = write_keys(db, &scratch, err);
    } else if (st == KILN_OK && is_old) {
        st = kiln_sql_begin(db->sql, err);
        if (st == KILN_OK)
            st = kiln_db_end(db, write_keys(db, &scratch, err), err);
    }
    kiln_arena_fini(&scratch);
    return st;
}
