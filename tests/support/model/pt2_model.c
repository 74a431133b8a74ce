/* Programs out of lines; see pt2_model.h. */
#include "tests/support/model/pt2_model.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/model/keras_model.h"

enum { MAX_ENTRIES = 16 };

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void skip(const char **p) {
    while (**p == ' ')
        ++*p;
}

/* Up to one of these characters. */
static kiln_str word(const char **p, const char *ends) {
    const size_t n = strcspn(*p, ends);
    const kiln_str s = {*p, n};
    *p += n;
    return kiln_str_trim(s);
}

/* ---- arguments -------------------------------------------------------------------- */

static bool is_symbol(kiln_str v) { return kiln_str_ends(v, ":"); }

/* A name or number inside a list of what `tag` says. */
static void put_element(kiln_buf *b, const char *tag, kiln_str v) {
    if (strcmp(tag, "as_tensors") == 0)
        kiln_buf_printf(b, "{'name': '%.*s'}", KILN_STR_ARG(v));
    else if (strcmp(tag, "as_optional_tensors") == 0 && kiln_str_is(v, "None"))
        kiln_buf_puts(b, "{'as_none': true}");
    else if (strcmp(tag, "as_optional_tensors") == 0)
        kiln_buf_printf(b, "{'as_tensor': {'name': '%.*s'}}", KILN_STR_ARG(v));
    else if (strcmp(tag, "as_sym_ints") == 0 && is_symbol(v))
        kiln_buf_printf(b, "{'as_name': '%.*s'}", (int)v.n - 1, v.p);
    else if (strcmp(tag, "as_sym_ints") == 0)
        kiln_buf_printf(b, "{'as_int': %.*s}", KILN_STR_ARG(v));
    else
        kiln_buf_printf(b, "%.*s", KILN_STR_ARG(v));
}

static const char *tag_of_list(kiln_str list) {
    kiln_str rest = list, v;
    const char *tag = "as_ints";
    while (kiln_str_cut(&rest, ',', &v)) {
        v = kiln_str_trim(v);
        if (kiln_str_is(v, "None"))
            return "as_optional_tensors";
        if (is_symbol(v))
            return "as_sym_ints";
        if (v.n > 0 && !is_digit(v.p[0]) && v.p[0] != '-')
            tag = "as_tensors";
        else if (v.n > 0 && memchr(v.p, '.', v.n) != NULL)
            tag = "as_floats";
    }
    return tag;
}

static void put_list(kiln_buf *b, kiln_str list) {
    const char *const tag = tag_of_list(list);
    kiln_str rest = list, v;
    bool is_first = true;
    kiln_buf_printf(b, "{'%s': [", tag);
    while (kiln_str_cut(&rest, ',', &v)) {
        if (kiln_str_trim(v).n == 0)
            continue;
        kiln_buf_puts(b, is_first ? "" : ", ");
        put_element(b, tag, kiln_str_trim(v));
        is_first = false;
    }
    kiln_buf_puts(b, "]}");
}

static void put_argument(kiln_buf *b, const char **p) {
    skip(p);
    if (**p == '[') {
        ++*p;
        put_list(b, word(p, "]"));
        ++*p;
        return;
    }
    const kiln_str v = word(p, ",)");
    const bool is_number = is_digit(v.p[0]) || v.p[0] == '-';
    const char *tag = NULL;
    if (kiln_str_is(v, "None"))
        kiln_buf_puts(b, "{'as_none': true}");
    else if (kiln_str_is(v, "True") || kiln_str_is(v, "False"))
        kiln_buf_printf(b, "{'as_bool': %s}", v.p[0] == 'T' ? "true" : "false");
    else if (v.p[0] == '@')
        kiln_buf_printf(b, "{'as_scalar_type': %.*s}", (int)v.n - 1, v.p + 1);
    else if (v.p[0] == '\'')
        kiln_buf_printf(b, "{'as_string': %.*s}", KILN_STR_ARG(v));
    else if (is_symbol(v))
        kiln_buf_printf(b, "{'as_sym_int': {'as_name': '%.*s'}}", (int)v.n - 1, v.p);
    else if (is_number)
        tag = memchr(v.p, '.', v.n) != NULL ? "as_float" : "as_int";
    else
        kiln_buf_printf(b, "{'as_tensor': {'name': '%.*s'}}", KILN_STR_ARG(v));
    if (tag != NULL)
        kiln_buf_printf(b, "{'%s': %.*s}", tag, KILN_STR_ARG(v));
}

/* ---- nodes ------------------------------------------------------------------------ */

static void put_outputs(kiln_buf *b, kiln_str left) {
    kiln_str v;
    bool is_first = true;
    if (left.n > 0 && left.p[0] == '[') {
        put_list(b, (kiln_str){left.p + 1, left.n - 2});
        return;
    }
    while (kiln_str_cut(&left, ',', &v)) {
        v = kiln_str_trim(v);
        if (is_symbol(v))
            kiln_buf_printf(b, "%s{'as_sym_int': {'as_name': '%.*s'}}",
                            is_first ? "" : ", ", (int)v.n - 1, v.p);
        else
            kiln_buf_printf(b, "%s{'as_tensor': {'name': '%.*s'}}",
                            is_first ? "" : ", ", KILN_STR_ARG(v));
        is_first = false;
    }
}

/* "y = op(name=value, ...)" */
static void put_node(kiln_buf *b, kiln_arena *a, kiln_str line) {
    const char *p = kiln_str_dupv(a, line);
    const kiln_str left = word(&p, "=");
    p++;
    const kiln_str op = word(&p, "(");
    const char *const before = kiln_str_starts(op, "_operator.") ? "" : "torch.ops.";
    p++;
    kiln_buf_printf(b, "{'target': '%s%.*s', 'inputs': [", before, KILN_STR_ARG(op));
    for (bool is_first = true; *p != ')' && *p != '\0'; is_first = false) {
        p += *p == ',' ? 1 : 0;
        const kiln_str name = word(&p, "=");
        p++;
        kiln_buf_printf(b, "%s{'name': '%.*s', 'arg': ", is_first ? "" : ", ",
                        KILN_STR_ARG(name));
        put_argument(b, &p);
        kiln_buf_puts(b, ", 'kind': 1}");
    }
    kiln_buf_puts(b, "], 'outputs': [");
    put_outputs(b, left);
    kiln_buf_puts(b, "], 'metadata': {}}");
}

static void put_nodes(kiln_buf *b, kiln_arena *a, const char *nodes) {
    kiln_str rest = kiln_str_from(nodes), line;
    bool is_first = true;
    while (kiln_str_cut(&rest, '\n', &line)) {
        line = kiln_str_trim(line);
        if (line.n == 0)
            continue;
        kiln_buf_puts(b, is_first ? "" : ", ");
        put_node(b, a, line);
        is_first = false;
    }
}

/* ---- tensors ---------------------------------------------------------------------- */

static void put_meta(kiln_buf *b, const kiln_test_pt2_tensor *t) {
    kiln_str rest = kiln_str_from(t->dims), v;
    int64_t dim[8], stride = 1;
    int rank = 0;
    kiln_buf_printf(b, "{'dtype': %d, 'sizes': [", t->is_int ? 5 : 7);
    while (kiln_str_cut(&rest, ',', &v) && rank < 8) {
        const bool is_known = kiln_parse_i64(v, &dim[rank]);
        kiln_buf_puts(b, rank == 0 ? "" : ", ");
        if (is_known)
            kiln_buf_printf(b, "{'as_int': %.*s}", KILN_STR_ARG(v));
        else if (v.n > 0)
            kiln_buf_printf(b,
                            "{'as_expr': {'expr_str': '%.*s', 'hint': {'as_int': 2}}}",
                            KILN_STR_ARG(v));
        rank += v.n > 0 ? 1 : 0;
    }
    kiln_buf_puts(b, "], 'storage_offset': {'as_int': 0}, 'strides': [");
    for (int i = 0; i < rank; i++) {
        stride = 1;
        for (int k = i + 1; k < rank; k++)
            stride *= dim[k];
        kiln_buf_printf(b, "%s{'as_int': %lld}", i == 0 ? "" : ", ", (long long)stride);
    }
    kiln_buf_puts(b, "]}");
}

static void put_spec(kiln_buf *b, const kiln_test_pt2_tensor *t) {
    if (t->numbers == NULL)
        kiln_buf_printf(b, "{'user_input': {'arg': {'as_tensor': {'name': '%s'}}}}",
                        t->name);
    else
        kiln_buf_printf(b,
                        "{'parameter': {'arg': {'name': '%s'}, 'parameter_name': "
                        "'%s'}}",
                        t->name, t->name);
}

const char *kiln_test_pt2_json(kiln_arena *a, const kiln_test_pt2_tensor *t, size_t n,
                               const char *nodes, const char *outputs) {
    kiln_str rest = kiln_str_from(outputs), v;
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_puts(&b, "{'graph_module': {'graph': {'inputs': [], 'nodes': [");
    put_nodes(&b, a, nodes);
    kiln_buf_puts(&b, "], 'tensor_values': {");
    for (size_t i = 0; i < n; i++) {
        kiln_buf_printf(&b, "%s'%s': ", i == 0 ? "" : ", ", t[i].name);
        put_meta(&b, &t[i]);
    }
    kiln_buf_puts(&b, "}}, 'signature': {'input_specs': [");
    for (size_t i = 0; i < n; i++) {
        kiln_buf_puts(&b, i == 0 ? "" : ", ");
        put_spec(&b, &t[i]);
    }
    kiln_buf_puts(&b, "], 'output_specs': [");
    for (bool is_first = true; kiln_str_cut(&rest, ' ', &v); is_first = false)
        kiln_buf_printf(&b,
                        "%s{'user_output': {'arg': {'as_tensor': {'name': '%.*s'}}}}",
                        is_first ? "" : ", ", KILN_STR_ARG(v));
    kiln_buf_puts(&b, "]}}, 'torch_version': '2.9.1'}");
    return kiln_test_quoted(a, kiln_buf_str(&b).p);
}

/* ---- archives --------------------------------------------------------------------- */

static kiln_str bytes_of(kiln_arena *a, const kiln_test_pt2_tensor *t) {
    kiln_buf b;
    kiln_str rest = kiln_str_from(t->numbers), v;
    kiln_buf_init(&b, a);
    if (t->numbers[0] == '*') {
        const size_t n = strtoull(t->numbers + 1, NULL, 10);
        return (kiln_str){(const char *)kiln_array(a, float, n), n * sizeof(float)};
    }
    while (kiln_str_cut(&rest, ' ', &v)) {
        double d = 0;
        kiln_parse_f64(v, &d);
        const float f = (float)d;
        const int64_t i = (int64_t)d;
        kiln_buf_add(&b, t->is_int ? (const void *)&i : (const void *)&f,
                     t->is_int ? sizeof i : sizeof f);
    }
    return kiln_buf_str(&b);
}

kiln_str kiln_test_pt2(kiln_arena *a, const kiln_test_pt2_tensor *t, size_t n,
                       const char *nodes, const char *outputs) {
    const char *names[MAX_ENTRIES] = {"m/models/model.json", "m/archive_format",
                                      "m/data/weights/model_weights_config.json"};
    kiln_str bytes[MAX_ENTRIES] = {
        kiln_str_from(kiln_test_pt2_json(a, t, n, nodes, outputs)),
        KILN_STR_LIT("pt2")};
    size_t count = 3;
    kiln_buf config;
    kiln_buf_init(&config, a);
    kiln_buf_puts(&config, "{'config': {");
    for (size_t i = 0; i < n; i++) {
        if (t[i].numbers == NULL)
            continue;
        KILN_ASSERT(count < MAX_ENTRIES, "too many weights");
        kiln_buf_printf(&config,
                        "%s'%s': {'path_name': 'weight_%zu', 'use_pickle': false, "
                        "'tensor_meta': ",
                        count == 3 ? "" : ", ", t[i].name, i);
        put_meta(&config, &t[i]);
        kiln_buf_puts(&config, "}");
        names[count] = kiln_format(a, "m/data/weights/weight_%zu", i);
        bytes[count++] = bytes_of(a, &t[i]);
    }
    kiln_buf_puts(&config, "}}");
    bytes[2] = kiln_str_from(kiln_test_quoted(a, kiln_buf_str(&config).p));
    return kiln_test_zip(a, names, bytes, count);
}

kiln_str kiln_test_pt2_of_json(kiln_arena *a, const char *json) {
    static const char *const names[] = {"m/models/model.json"};
    const kiln_str bytes[] = {kiln_str_from(json)};
    return kiln_test_zip(a, names, bytes, 1);
}
