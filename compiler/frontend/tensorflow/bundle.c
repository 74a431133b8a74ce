/* Variables beside a SavedModel: see tf_bundle.h. */
#include "compiler/frontend/tensorflow/tf_bundle.h"

#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/frontend_beside.h"
#include "compiler/frontend/protobuf.h"
#include "compiler/frontend/tensorflow/crc32c.h"

#define INDEX "variables/variables.index"
#define OBJECTS "_CHECKPOINTABLE_OBJECT_GRAPH"

enum {
    FOOTER_BYTES = 48,
    TRAILER_BYTES = 5, /* behind each block: how it is packed, and its checksum */
    MAX_KEY = 4096,
    MAX_SHARDS = 1 << 16,
    DT_STRING = 7,
};
static const unsigned char magic[8] = {0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};

static const kiln_pb_field entry_fields[] = {
    {1, KILN_PB_I64, false, "dtype", offsetof(kiln_tf_entry, dtype), KILN_PB_NONE,
     NULL},
    {2, KILN_PB_INLINE, false, "shape", offsetof(kiln_tf_entry, shape), KILN_PB_NONE,
     &kiln_tf_shape_message},
    {3, KILN_PB_I64, false, "shard_id", offsetof(kiln_tf_entry, shard), KILN_PB_NONE,
     NULL},
    {4, KILN_PB_I64, false, "offset", offsetof(kiln_tf_entry, offset), KILN_PB_NONE,
     NULL},
    {5, KILN_PB_I64, false, "size", offsetof(kiln_tf_entry, size), KILN_PB_NONE, NULL},
    {7, KILN_PB_COUNT, true, "slices", offsetof(kiln_tf_entry, n_slices), KILN_PB_NONE,
     NULL},
};
static const kiln_pb_message entry_message = {
    "BundleEntryProto", sizeof(kiln_tf_entry), entry_fields,
    sizeof entry_fields / sizeof *entry_fields};

/* ---- the table -------------------------------------------------------------------- */

/* False: the bytes end, or no number of 64 bits stands there. */
static bool take_varint(kiln_str *rest, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; shift < 64 && rest->n > 0; shift += 7) {
        const unsigned char c = (unsigned char)*rest->p;
        rest->p++;
        rest->n--;
        *out |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

static kiln_status damaged(kiln_err *err, const char *what) {
    return kiln_fail(err, KILN_ERR_PARSE,
                     "'" INDEX "' is no table of variables: %s; is it complete?", what);
}

/* A handle, offset and size, and the block that it names, without its trailer. */
static kiln_status take_block(kiln_str file, kiln_str *handle, kiln_str *out,
                              kiln_err *err) {
    uint64_t offset, size;
    if (!take_varint(handle, &offset) || !take_varint(handle, &size) ||
        offset > file.n || size > file.n - offset ||
        file.n - offset - size < TRAILER_BYTES)
        return damaged(err, "a block lies outside of it");
    if (file.p[offset + size] != 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "'" INDEX "' is compressed, which TensorFlow never writes");
    *out = (kiln_str){file.p + offset, (size_t)size};
    return KILN_OK;
}

typedef kiln_status (*visit)(void *user, kiln_str key, kiln_str value, kiln_err *err);

/* Entries of a block: a key is what it shares with the one before, and what follows. */
static kiln_status walk_block(kiln_arena *a, kiln_str block, visit fn, void *user,
                              kiln_err *err) {
    uint32_t n_restarts;
    char key[MAX_KEY];
    size_t n_key = 0;
    if (block.n < sizeof n_restarts)
        return damaged(err, "a block is too short");
    memcpy(&n_restarts, block.p + block.n - sizeof n_restarts, sizeof n_restarts);
    if (n_restarts >= block.n / sizeof n_restarts)
        return damaged(err, "a block has more restarts than bytes");
    block.n -= ((size_t)n_restarts + 1) * sizeof n_restarts;
    while (block.n > 0) {
        uint64_t shared, own, n_value;
        if (!take_varint(&block, &shared) || !take_varint(&block, &own) ||
            !take_varint(&block, &n_value) || shared > n_key || own > block.n ||
            n_value > block.n - own)
            return damaged(err, "an entry does not fit its block");
        if (own > MAX_KEY - shared)
            return kiln_fail(err, KILN_ERR_LIMIT, "a variable's name may have %d bytes",
                             MAX_KEY);
        memcpy(key + shared, block.p, own);
        n_key = (size_t)(shared + own);
        KILN_ASSERT(n_key <= MAX_KEY, "a key of %zu bytes", n_key);
        const kiln_str value = {block.p + own, (size_t)n_value};
        const kiln_str whole = {kiln_arena_dup(a, key, n_key), n_key};
        KILN_TRY(fn(user, whole, value, err));
        block.p += own + n_value;
        block.n -= own + n_value;
    }
    return KILN_OK;
}

typedef struct reading {
    kiln_arena *arena;
    kiln_tf_bundle *bundle;
    kiln_str file;
} reading;

/* The first entry has no name and speaks of the whole: BundleHeaderProto. */
static kiln_status read_header(kiln_tf_bundle *b, kiln_str value, kiln_err *err) {
    kiln_pb_wire w;
    b->n_shards = 1;
    while (kiln_pb_next(&value, &w)) {
        if (w.number == 1 && w.type == 0)
            b->n_shards = w.value < MAX_SHARDS ? (int64_t)w.value : 0;
        if (w.number == 2 && w.type == 0 && w.value != 0)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "variables of a machine with the other order of bytes are "
                             "not read");
    }
    if (b->n_shards < 1)
        return damaged(err, "it must have 1 to 65535 shards");
    return KILN_OK;
}

static kiln_status read_entry(void *user, kiln_str key, kiln_str value, kiln_err *err) {
    const reading *const r = user;
    if (key.n == 0)
        return read_header(r->bundle, value, err);
    kiln_tf_entry *const e = kiln_new(r->arena, kiln_tf_entry);
    KILN_TRY(kiln_pb_read(r->arena, &entry_message, value, e, err));
    kiln_pb_wire w;
    while (kiln_pb_next(&value, &w))
        if (w.number == 6 && w.type == 5) /* crc32c */
            e->checksum = (uint32_t)w.value;
    kiln_map_set(r->arena, &r->bundle->entries, key, e);
    return KILN_OK;
}

static kiln_status read_data_block(void *user, kiln_str key, kiln_str value,
                                   kiln_err *err) {
    reading *const r = user;
    kiln_str block;
    (void)key;
    KILN_TRY(take_block(r->file, &value, &block, err));
    return walk_block(r->arena, block, read_entry, r, err);
}

static kiln_status read_table(reading *r, kiln_err *err) {
    kiln_str footer, block;
    if (r->file.n < FOOTER_BYTES ||
        memcmp(r->file.p + r->file.n - sizeof magic, magic, sizeof magic) != 0)
        return damaged(err, "it does not end as one");
    footer = (kiln_str){r->file.p + r->file.n - FOOTER_BYTES, FOOTER_BYTES};
    KILN_TRY(take_block(r->file, &footer, &block, err)); /* of metadata: not read */
    KILN_TRY(take_block(r->file, &footer, &block, err));
    return walk_block(r->arena, block, read_data_block, r, err);
}

/* ---- files ------------------------------------------------------------------------ */

static kiln_status map_file(kiln_arena *a, kiln_tf_bundle *b, const char *name,
                            kiln_str *out, kiln_err *err) {
    if (b->dir == NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "variables are not allowed here: there is no model folder");
    const char *const path = kiln_path_join(a, b->dir, name);
    KILN_TRY(kiln_import_check_link(a, path, b->dir, b->model, err));
    KILN_TRY(kiln_file_map(a, path, 0, out, err));
    kiln_vec_push(a, &b->files, name);
    kiln_vec_push(a, &b->bytes, *out);
    return KILN_OK;
}

const char *kiln_tf_bundle_shard(kiln_arena *a, int64_t i, int64_t n) {
    return kiln_format(a, "variables/variables.data-%05" PRId64 "-of-%05" PRId64, i, n);
}

kiln_status kiln_tf_bundle_bytes(kiln_arena *a, kiln_tf_bundle *b,
                                 const kiln_tf_entry *e, kiln_str *out, kiln_err *err) {
    if (e->n_slices > 0)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "variables in slices are not read; save the model without "
                         "partitioned variables");
    if (e->shard < 0 || e->shard >= b->n_shards)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "shard %" PRId64 " of %" PRId64 " is asked for", e->shard,
                         b->n_shards);
    KILN_ASSERT(b->shard != NULL, "a table is read that was not opened");
    kiln_str *const file = &b->shard[e->shard];
    if (file->p == NULL)
        KILN_TRY(
            map_file(a, b, kiln_tf_bundle_shard(a, e->shard, b->n_shards), file, err));
    if (e->offset < 0 || e->size < 0 || (uint64_t)e->offset > file->n ||
        (uint64_t)e->size > file->n - (uint64_t)e->offset)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%" PRId64 " bytes from %" PRId64
                         " on are asked for of a shard "
                         "of %zu; is it complete?",
                         e->size, e->offset, file->n);
    *out = (kiln_str){file->p + e->offset, (size_t)e->size};
    if (e->dtype == DT_STRING || e->checksum == 0) /* of strings: another one */
        return KILN_OK;
    const uint32_t sum = kiln_tf_crc_mask(kiln_tf_crc32c(*out));
    if (sum == e->checksum)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_PARSE,
                     "the checksum of %" PRId64 " bytes from %" PRId64
                     " on must be %08" PRIx32 ", is %08" PRIx32
                     "; the shard is damaged: fetch the model again",
                     e->size, e->offset, e->checksum, sum);
}

/* ---- objects ---------------------------------------------------------------------- */

/* TrackableObject: attributes (2) of name (1), full_name (2), checkpoint_key (3). */
static void read_object(kiln_arena *a, kiln_tf_bundle *b, kiln_str object) {
    kiln_pb_wire w, field;
    while (kiln_pb_next(&object, &w)) {
        kiln_str name = {0}, *key, rest = w.bytes;
        if (w.number != 2 || w.type != 2)
            continue;
        key = kiln_new(a, kiln_str);
        while (kiln_pb_next(&rest, &field)) {
            if (field.number == 2 && field.type == 2)
                name = field.bytes;
            else if (field.number == 3 && field.type == 2)
                *key = field.bytes;
        }
        if (name.n > 0 && key->n > 0)
            kiln_map_set(a, &b->keys, name, key);
    }
}

/* A string tensor: the lengths of its elements, their checksum, the elements. */
static kiln_status read_objects(kiln_arena *a, kiln_tf_bundle *b, kiln_err *err) {
    enum { CHECKSUM_BYTES = 4 };
    const kiln_tf_entry *const e = kiln_map_get(&b->entries, KILN_STR_LIT(OBJECTS));
    kiln_str bytes;
    uint64_t n;
    kiln_pb_wire w;
    if (e == NULL) /* saved of old: variables by their own names */
        return KILN_OK;
    KILN_TRY(kiln_tf_bundle_bytes(a, b, e, &bytes, err));
    if (e->dtype != DT_STRING || !take_varint(&bytes, &n) || bytes.n < CHECKSUM_BYTES ||
        n > bytes.n - CHECKSUM_BYTES)
        return kiln_fail(err, KILN_ERR_PARSE, "'" OBJECTS "' must be one string");
    bytes = (kiln_str){bytes.p + CHECKSUM_BYTES, (size_t)n};
    while (kiln_pb_next(&bytes, &w))
        if (w.number == 1 && w.type == 2)
            read_object(a, b, w.bytes);
    return KILN_OK;
}

kiln_status kiln_tf_bundle_open(kiln_arena *a, kiln_tf_bundle *b, kiln_err *err) {
    reading r = {.arena = a, .bundle = b};
    if (b->is_open)
        return KILN_OK;
    KILN_TRY(map_file(a, b, INDEX, &r.file, err));
    b->n_shards = 1;
    KILN_TRY(read_table(&r, err));
    b->shard = kiln_array(a, kiln_str, b->n_shards);
    KILN_TRY(read_objects(a, b, err));
    b->is_open = true;
    return KILN_OK;
}

const kiln_tf_entry *kiln_tf_bundle_find(const kiln_tf_bundle *b, kiln_str name) {
    const kiln_str *const key = kiln_map_get(&b->keys, name);
    return kiln_map_get(&b->entries, key != NULL ? *key : name);
}
