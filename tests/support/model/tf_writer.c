/* Writing TensorFlow graphs: see tf_writer.h. */
#include "tests/support/model/tf_writer.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/tensorflow/crc32c.h"
#include "zoo/onnx_write.h"

enum { DT_FLOAT = 1, DT_INT32 = 3, DT_INT64 = 9, MAX_TEXT = 64 };

static double number_of(kiln_str text) {
    char z[MAX_TEXT] = {0};
    memcpy(z, text.p, text.n < MAX_TEXT - 1 ? text.n : MAX_TEXT - 1);
    return strtod(z, NULL);
}

/* TensorShapeProto. */
static kiln_str shape_of(kiln_arena *a, kiln_str text) {
    kiln_buf b;
    kiln_str part;
    kiln_buf_init(&b, a);
    while (text.n > 0 && kiln_str_cut(&text, ',', &part)) {
        kiln_buf dim;
        kiln_buf_init(&dim, a);
        kiln_pb_put_int(&dim, 1, (int64_t)number_of(part));
        kiln_pb_put_bytes(&b, 2, kiln_buf_str(&dim));
    }
    return kiln_buf_str(&b);
}

/* TensorProto, of "2,2:1;2;3;4". */
static kiln_str tensor_of(kiln_arena *a, char kind, kiln_str text) {
    const int type = kind == 'I' ? DT_INT32 : kind == 'L' ? DT_INT64 : DT_FLOAT;
    kiln_buf b, raw;
    kiln_str shape, part;
    kiln_buf_init(&b, a);
    kiln_buf_init(&raw, a);
    kiln_str_cut(&text, ':', &shape);
    kiln_pb_put_int(&b, 1, type);
    kiln_pb_put_bytes(&b, 2, shape_of(a, shape));
    while (text.n > 0 && kiln_str_cut(&text, ';', &part)) {
        const float v = (float)number_of(part);
        if (kind == 'C')
            kiln_buf_add(&raw, &v, sizeof v);
        else if (kind == 'F')
            kiln_pb_put_float(&b, 5, v);
        else
            kiln_pb_put_int(&b, kind == 'I' ? 7 : 10, (int64_t)number_of(part));
    }
    if (kind == 'Z') {
        double n = 1;
        while (shape.n > 0 && kiln_str_cut(&shape, ',', &part))
            n *= number_of(part);
        kiln_buf_add(&raw, (const char *)kiln_array(a, float, n),
                     (size_t)n * sizeof(float));
    }
    if (kind == 'C' || kind == 'Z')
        kiln_pb_put_bytes(&b, 4, kiln_buf_str(&raw));
    return kiln_buf_str(&b);
}

/* AttrValue. */
static kiln_str value_of(kiln_arena *a, kiln_str text) {
    const char kind = text.n > 0 ? text.p[0] : '?';
    kiln_str rest = {text.p + 1, text.n > 0 ? text.n - 1 : 0}, part;
    kiln_buf b, list;
    kiln_buf_init(&b, a);
    kiln_buf_init(&list, a);
    switch (kind) {
    case 's':
        kiln_pb_put_bytes(&b, 2, rest);
        break;
    case 'i':
        kiln_pb_put_int(&b, 3, (int64_t)number_of(rest));
        break;
    case 'f':
        kiln_pb_put_float(&b, 4, (float)number_of(rest));
        break;
    case 'b':
        kiln_pb_put_int(&b, 5, kiln_str_is(rest, "true"));
        break;
    case 't':
        kiln_pb_put_int(&b, 6, (int64_t)number_of(rest));
        break;
    case 'S':
        kiln_pb_put_bytes(&b, 7, shape_of(a, rest));
        break;
    case 'N':
        kiln_pb_put_bytes(&list, 1, rest);
        kiln_pb_put_bytes(&b, 10, kiln_buf_str(&list));
        break;
    case 'l':
        while (rest.n > 0 && kiln_str_cut(&rest, ',', &part))
            kiln_pb_put_int(&list, 3, (int64_t)number_of(part));
        kiln_pb_put_bytes(&b, 1, kiln_buf_str(&list));
        break;
    default:
        kiln_pb_put_bytes(&b, 8, tensor_of(a, kind, rest));
        break;
    }
    return kiln_buf_str(&b);
}

static void put_word(kiln_arena *a, kiln_buf *node, int at, kiln_str word) {
    kiln_str value = word, key;
    kiln_buf entry;
    if (at < 2) {
        kiln_pb_put_bytes(node, at == 0 ? 1 : 2, word);
        return;
    }
    if (memchr(word.p, '=', word.n) == NULL) {
        kiln_pb_put_bytes(node, 3, word);
        return;
    }
    kiln_str_cut(&value, '=', &key);
    kiln_buf_init(&entry, a);
    kiln_pb_put_bytes(&entry, 1, key);
    kiln_pb_put_bytes(&entry, 2, value_of(a, value));
    kiln_pb_put_bytes(node, 5, kiln_buf_str(&entry));
}

void kiln_tf_put_nodes(kiln_arena *a, kiln_buf *b, uint32_t number, const char *text) {
    kiln_str rest = kiln_str_from(text), line, word;
    while (rest.n > 0 && kiln_str_cut(&rest, '\n', &line)) {
        kiln_buf node;
        int at = 0;
        line = kiln_str_trim(line);
        if (line.n == 0)
            continue;
        kiln_buf_init(&node, a);
        while (line.n > 0 && kiln_str_cut(&line, ' ', &word))
            put_word(a, &node, at++, word);
        kiln_pb_put_bytes(b, number, kiln_buf_str(&node));
    }
}

kiln_str kiln_tf_graph_of(kiln_arena *a, const char *text) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_tf_put_nodes(a, &b, 1, text);
    return kiln_buf_str(&b);
}

/* ---- libraries and saved models --------------------------------------------------- */

/* One ArgDef of float for each name. */
static void put_args(kiln_arena *a, kiln_buf *signature, uint32_t number,
                     const char *names) {
    kiln_str rest = kiln_str_from(names), name;
    while (rest.n > 0 && kiln_str_cut(&rest, ' ', &name)) {
        kiln_buf arg;
        kiln_buf_init(&arg, a);
        kiln_pb_put_bytes(&arg, 1, name);
        kiln_pb_put_int(&arg, 3, DT_FLOAT);
        kiln_pb_put_bytes(signature, number, kiln_buf_str(&arg));
    }
}

/* Entries of a map, of "key=value key=value"; `wrap`: the value is field 1 of a message.
 */
static void put_pairs(kiln_arena *a, kiln_buf *b, uint32_t number, const char *pairs,
                      bool wrap) {
    kiln_str rest = kiln_str_from(pairs), value, key;
    while (rest.n > 0 && kiln_str_cut(&rest, ' ', &value)) {
        kiln_buf entry, info;
        kiln_buf_init(&entry, a);
        kiln_buf_init(&info, a);
        kiln_str_cut(&value, '=', &key);
        kiln_pb_put_bytes(&info, 1, value);
        kiln_pb_put_bytes(&entry, 1, key);
        kiln_pb_put_bytes(&entry, 2, wrap ? kiln_buf_str(&info) : value);
        kiln_pb_put_bytes(b, number, kiln_buf_str(&entry));
    }
}

kiln_str kiln_tf_library_of(kiln_arena *a, const char *text,
                            const kiln_tf_test_function *f, size_t n) {
    kiln_buf graph, library;
    kiln_buf_init(&graph, a);
    kiln_buf_init(&library, a);
    for (size_t i = 0; i < n; i++) {
        kiln_buf function, signature;
        kiln_buf_init(&function, a);
        kiln_buf_init(&signature, a);
        kiln_pb_put_text(&signature, 1, f[i].name);
        put_args(a, &signature, 2, f[i].in);
        put_args(a, &signature, 3, f[i].out);
        kiln_pb_put_bytes(&function, 1, kiln_buf_str(&signature));
        kiln_tf_put_nodes(a, &function, 3, f[i].nodes);
        put_pairs(a, &function, 4, f[i].results, false);
        kiln_pb_put_bytes(&library, 1, kiln_buf_str(&function));
    }
    kiln_tf_put_nodes(a, &graph, 1, text);
    kiln_pb_put_bytes(&graph, 2, kiln_buf_str(&library));
    return kiln_buf_str(&graph);
}

static void put_signature(kiln_arena *a, kiln_buf *meta,
                          const kiln_tf_test_signature *s) {
    kiln_buf entry, signature;
    kiln_buf_init(&entry, a);
    kiln_buf_init(&signature, a);
    put_pairs(a, &signature, 1, s->inputs, true);
    put_pairs(a, &signature, 2, s->outputs, true);
    kiln_pb_put_text(&entry, 1, s->name);
    kiln_pb_put_bytes(&entry, 2, kiln_buf_str(&signature));
    kiln_pb_put_bytes(meta, 5, kiln_buf_str(&entry));
}

kiln_str kiln_tf_saved_of(kiln_arena *a, kiln_str graph, const char *inputs,
                          const char *outputs) {
    const kiln_tf_test_signature one = {"serving_default", inputs, outputs};
    return kiln_tf_saved_by(a, graph, &one, 1);
}

kiln_str kiln_tf_saved_by(kiln_arena *a, kiln_str graph,
                          const kiln_tf_test_signature *s, size_t n) {
    kiln_buf saved, meta, info;
    kiln_buf_init(&saved, a);
    kiln_buf_init(&meta, a);
    kiln_buf_init(&info, a);
    kiln_pb_put_text(&info, 4, "serve");
    kiln_pb_put_text(&info, 5, "2.16.1");
    kiln_pb_put_bytes(&meta, 1, kiln_buf_str(&info));
    kiln_pb_put_bytes(&meta, 2, graph);
    for (size_t i = 0; i < n; i++)
        put_signature(a, &meta, &s[i]);
    kiln_pb_put_int(&saved, 1, 1);
    kiln_pb_put_bytes(&saved, 2, kiln_buf_str(&meta));
    return kiln_buf_str(&saved);
}

/* ---- tables of variables ---------------------------------------------------------- */

/* An entry whose key shares its first `shared` bytes with the one before. */
static void put_entry(kiln_buf *block, kiln_str before, kiln_str key, kiln_str value) {
    size_t shared = 0;
    while (shared < before.n && shared < key.n && before.p[shared] == key.p[shared])
        shared++;
    kiln_pb_put_varint(block, shared);
    kiln_pb_put_varint(block, key.n - shared);
    kiln_pb_put_varint(block, value.n);
    kiln_buf_add(block, key.p + shared, key.n - shared);
    kiln_buf_add(block, value.p, value.n);
}

/* A block with one restart, and its handle. */
static kiln_str put_block(kiln_arena *a, kiln_buf *file, const kiln_buf *block) {
    static const unsigned char tail[] = {0, 0, 0, 0, 1, 0, 0, 0, 0, 'c', 'r', 'c', '!'};
    kiln_buf handle;
    kiln_buf_init(&handle, a);
    kiln_pb_put_varint(&handle, file->n);
    kiln_pb_put_varint(&handle, block->n + 8);
    if (block->n > 0)
        kiln_buf_add(file, kiln_buf_str(block).p, block->n);
    kiln_buf_add(file, tail, sizeof tail);
    return kiln_buf_str(&handle);
}

/* With a checksum, where `bytes` is not NULL. */
static kiln_str entry_of(kiln_arena *a, int type, const char *shape, size_t offset,
                         const void *bytes, size_t size) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_pb_put_int(&b, 1, type);
    kiln_pb_put_bytes(&b, 2, shape_of(a, kiln_str_from(shape)));
    kiln_pb_put_int(&b, 4, (int64_t)offset);
    kiln_pb_put_int(&b, 5, (int64_t)size);
    if (bytes != NULL) {
        const uint32_t sum = kiln_tf_crc_mask(kiln_tf_crc32c((kiln_str){bytes, size}));
        kiln_buf_add(&b, "\x35", 1); /* field 6, of 32 bits */
        kiln_buf_add(&b, &sum, sizeof sum);
    }
    return kiln_buf_str(&b);
}

/* TrackableObjectGraph as the bytes of a string tensor. */
static kiln_str objects_of(kiln_arena *a, const kiln_tf_test_variable *v, size_t n) {
    kiln_buf graph, bytes;
    kiln_buf_init(&graph, a);
    kiln_buf_init(&bytes, a);
    for (size_t i = 0; i < n; i++) {
        kiln_buf node, attribute;
        if (v[i].full == NULL)
            continue;
        kiln_buf_init(&node, a);
        kiln_buf_init(&attribute, a);
        kiln_pb_put_text(&attribute, 1, "VARIABLE_VALUE");
        kiln_pb_put_text(&attribute, 2, v[i].full);
        kiln_pb_put_text(&attribute, 3, v[i].key);
        kiln_pb_put_bytes(&node, 2, kiln_buf_str(&attribute));
        kiln_pb_put_bytes(&graph, 1, kiln_buf_str(&node));
    }
    kiln_pb_put_varint(&bytes, graph.n);
    kiln_buf_add(&bytes, "crc!", 4);
    if (graph.n > 0)
        kiln_buf_add(&bytes, kiln_buf_str(&graph).p, graph.n);
    return kiln_buf_str(&bytes);
}

void kiln_tf_bundle_of(kiln_arena *a, const kiln_tf_test_variable *v, size_t n,
                       kiln_str *index, kiln_str *data) {
    static const char padding[40] = {0};
    static const unsigned char magic[] = {0x57, 0xfb, 0x80, 0x8b,
                                          0x24, 0x75, 0x47, 0xdb};
    kiln_buf file, block, table, none, bytes, footer;
    kiln_buf_init(&file, a);
    kiln_buf_init(&block, a);
    kiln_buf_init(&table, a);
    kiln_buf_init(&none, a);
    kiln_buf_init(&bytes, a);
    kiln_buf_init(&footer, a);
    const kiln_str objects = objects_of(a, v, n);
    const kiln_str first = KILN_STR_LIT("_CHECKPOINTABLE_OBJECT_GRAPH");
    kiln_buf_add(&bytes, objects.p, objects.n);
    put_entry(&block, KILN_STR_LIT(""), KILN_STR_LIT(""), KILN_STR_LIT("\x08\x01"));
    put_entry(&block, KILN_STR_LIT(""), first, entry_of(a, 7, "", 0, NULL, objects.n));
    for (size_t i = 0; i < n; i++) {
        const kiln_str before = i == 0 ? first : kiln_str_from(v[i - 1].key);
        const float *const numbers = v[i].many != NULL ? v[i].many : v[i].v;
        put_entry(&block, before, kiln_str_from(v[i].key),
                  entry_of(a, DT_FLOAT, v[i].shape, bytes.n, numbers,
                           v[i].n * sizeof(float)));
        kiln_buf_add(&bytes, numbers, v[i].n * sizeof(float));
    }
    const kiln_str data_handle = put_block(a, &file, &block);
    const kiln_str none_handle = put_block(a, &file, &none);
    put_entry(&table, KILN_STR_LIT(""), KILN_STR_LIT("~"), data_handle);
    const kiln_str table_handle = put_block(a, &file, &table);
    kiln_buf_add(&footer, none_handle.p, none_handle.n);
    kiln_buf_add(&footer, table_handle.p, table_handle.n);
    kiln_buf_add(&footer, padding, sizeof padding - footer.n);
    kiln_buf_add(&footer, magic, sizeof magic);
    kiln_buf_add(&file, kiln_buf_str(&footer).p, footer.n);
    *index = kiln_buf_str(&file);
    *data = kiln_buf_str(&bytes);
}
