/* ML programs for tests: see mil_model.h. */
#include "tests/support/model/mil_model.h"

#include <inttypes.h>
#include <string.h>

#include "tests/support/kiln_test.h"
#include "tests/support/model/pb_text.h"

enum { BOOL = 1, STRING = 2, F32 = 11, I32 = 23 };

/* ValueType of a tensor; dims: "2,3", "" for a scalar. */
static const char *type_text(kiln_arena *a, int dtype, kiln_str dims) {
    kiln_buf b;
    kiln_str size;
    int rank = 0;
    kiln_buf sizes;
    kiln_buf_init(&b, a);
    kiln_buf_init(&sizes, a);
    kiln_buf_puts(&sizes, "");
    for (kiln_str rest = dims; rest.n > 0 && kiln_str_cut(&rest, ',', &size); rank++) {
        if (size.p[0] == '-')
            kiln_buf_puts(&sizes, " 3:{2:{}}");
        else
            kiln_buf_printf(&sizes, " 3:{1:{1:%.*s}}", KILN_STR_ARG(size));
    }
    kiln_buf_printf(&b, "{1:{1:%d 2:%d%.*s}}", dtype, rank,
                    KILN_STR_ARG(kiln_buf_str(&sizes)));
    return kiln_buf_str(&b).p;
}

static const char *value(kiln_arena *a, const char *type, const char *data) {
    return kiln_format(a, "2:{2:%s 3:{1:{%s}}}", type, data);
}

static size_t count_of(kiln_str list) {
    size_t n = list.n > 0;
    for (size_t i = 0; i < list.n; i++)
        n += list.p[i] == ',';
    return n;
}

/* A Binding. */
static const char *binding(kiln_arena *a, kiln_str v) {
    const kiln_str none = {"", 0}, inner = {v.p + 1, v.n > 1 ? v.n - 2 : 0};
    kiln_str rest = inner, dims;
    if (v.p[0] == '[')
        return value(
            a, type_text(a, I32, kiln_str_from(kiln_format(a, "%zu", count_of(inner)))),
            kiln_format(a, "2:{1:[%.*s]}", KILN_STR_ARG(inner)));
    if (v.p[0] == '(') {
        kiln_str_cut(&rest, ':', &dims);
        return value(a, type_text(a, F32, dims),
                     kiln_format(a, "1:{1:(%.*s)}", KILN_STR_ARG(kiln_str_trim(rest))));
    }
    if (v.p[0] == '@') {
        kiln_str offset;
        rest = (kiln_str){v.p + 1, v.n - 2};
        kiln_str_cut(&rest, '(', &offset);
        return kiln_format(a, "2:{2:%s 5:{1:'@model_path/weights/weight.bin' 2:%.*s}}",
                           type_text(a, F32, rest), KILN_STR_ARG(offset));
    }
    if (v.p[0] == '\'')
        return value(a, type_text(a, STRING, none),
                     kiln_format(a, "4:{1:%.*s}", KILN_STR_ARG(v)));
    if (kiln_str_is(v, "true") || kiln_str_is(v, "false"))
        return value(a, type_text(a, BOOL, none),
                     kiln_format(a, "3:{1:[%d]}", kiln_str_is(v, "true")));
    if (v.p[0] == '-' || (v.p[0] >= '0' && v.p[0] <= '9')) {
        const bool is_float = memchr(v.p, '.', v.n) != NULL;
        return value(a, type_text(a, is_float ? F32 : I32, none),
                     kiln_format(a, is_float ? "1:{1:(%.*s)}" : "2:{1:[%.*s]}",
                                 KILN_STR_ARG(v)));
    }
    return kiln_format(a, "1:'%.*s'", KILN_STR_ARG(v));
}

/* Up to a blank outside of brackets. */
static bool take_word(kiln_str *rest, kiln_str *out) {
    int depth = 0;
    *rest = kiln_str_trim(*rest);
    *out = (kiln_str){rest->p, 0};
    while (out->n < rest->n && (depth > 0 || rest->p[out->n] != ' ')) {
        depth += rest->p[out->n] == '(' || rest->p[out->n] == '[';
        depth -= rest->p[out->n] == ')' || rest->p[out->n] == ']';
        out->n++;
    }
    rest->p += out->n;
    rest->n -= out->n;
    return out->n > 0;
}

static void put_op(kiln_arena *a, kiln_buf *out, kiln_str line) {
    kiln_str names, type, word, name;
    kiln_str_cut(&line, '=', &names);
    assert_true(take_word(&line, &type));
    kiln_buf_printf(out, " 3:{1:'%.*s'", KILN_STR_ARG(type));
    while (take_word(&line, &word)) {
        kiln_str key, one;
        kiln_str_cut(&word, '=', &key);
        kiln_buf_printf(out, " 2:{1:'%.*s' 2:{", KILN_STR_ARG(key));
        if (word.p[0] >= 'a')
            while (kiln_str_cut(&word, '+', &one))
                kiln_buf_printf(out, "1:{%s}", binding(a, one));
        else
            kiln_buf_printf(out, "1:{%s}", binding(a, word));
        kiln_buf_puts(out, "}}");
    }
    names = kiln_str_trim(names);
    while (kiln_str_cut(&names, ',', &name))
        kiln_buf_printf(out, " 3:{1:'%.*s'}", KILN_STR_ARG(name));
    kiln_buf_puts(out, "}");
}

kiln_str kiln_test_mil(kiln_arena *a, const char *x, const char *ops) {
    kiln_str rest = kiln_str_from(ops), line;
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_puts(&b, "2:'y'");
    while (kiln_str_cut(&rest, '\n', &line))
        put_op(a, &b, line);
    return kiln_test_pb(
        a, kiln_format(a,
                       "1:7 2:{} 502:{1:1 2:{1:'main' 2:{1:{1:'x' 2:%s} 2:'CoreML5' "
                       "3:{1:'CoreML5' 2:{%.*s}}}}}",
                       type_text(a, F32, kiln_str_from(x)),
                       KILN_STR_ARG(kiln_buf_str(&b))));
}

kiln_str kiln_test_mil_weights(kiln_arena *a, const float *v, size_t n) {
    enum { HEAD = 64 };
    const uint32_t version[] = {1, 2}, mark[] = {0xdeadbeef, 2};
    const uint64_t size[] = {n * sizeof *v, 2 * HEAD};
    const size_t bytes = 2 * HEAD + n * sizeof *v;
    char *const file = kiln_arena_alloc(a, bytes);
    memcpy(file, version, sizeof version);
    memcpy(file + HEAD, mark, sizeof mark);
    memcpy(file + HEAD + 8, size, sizeof size);
    memcpy(file + (size_t)2 * HEAD, v, n * sizeof *v);
    return (kiln_str){file, bytes};
}
