/* Writing TensorFlow graphs: see tf_writer.h. */
#include "tests/support/tf_writer.h"

#include <stdlib.h>
#include <string.h>

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
    if (kind == 'C')
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
