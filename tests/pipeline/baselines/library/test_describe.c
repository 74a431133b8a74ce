/* Operators as libraries know them: what is described, and what is refused by name. The
 * description is written as JSON, read again and written again: the same. */
#include "tests/support/measuring/described.h"

#include <string.h>

typedef struct row {
    const char *name, *line;
    const char *text; /* a part of the JSON, blanks squeezed */
} row;

static row rows[] = {
    {"a_convolution", "conv x h=9 w=33 ic=20 oc=17 kh=5 kw=1 sh=2 sw=1 pad=2,0,1,0",
     "\"kind\": \"conv\", \"type\": \"f32\", \"kernel\": [5, 1], \"strides\": [2, 1], "
     "\"dilations\": [1, "
     "1], \"pads_begin\": [2, 0], \"pads_end\": [0, 0]"},
    {"groups", "conv x h=4 ic=8 oc=12 k=3 groups=4", "\"groups\": 4"},
    {"a_bias_and_relu", "conv x h=4 ic=8 oc=8 k=3 bias=yes act=relu",
     "\"tails\": [ { \"kind\": \"bias\", \"tensor\": 2, \"alpha\": 0, \"beta\": 0 }, { "
     "\"kind\": \"relu\", \"tensor\": -1"},
    {"a_bias_that_is_added", "matmul x m=3 k=5 n=7 bias=yes",
     "{ \"name\": \"bias\", \"dims\": [7], \"is_constant\": true }"},
    {"a_sum", "conv x h=4 ic=8 oc=8 k=3 add=yes act=relu",
     "\"tails\": [ { \"kind\": \"add\", \"tensor\": 2, \"alpha\": 0, \"beta\": 0 }, {"},
    {"bounds_that_are_infinite", "conv x h=4 ic=8 oc=8 k=3 act=clip",
     "{ \"kind\": \"clip\", \"tensor\": -1, \"alpha\": null, \"beta\": null }"},
    {"a_transposed_matrix",
     "gemm x in=f32[8,16] const=f32[10,16] const=f32[1,10] trans_b=yes",
     "\"trans_b\": true"},
    {"a_row_of_gemm", "gemm x in=f32[8,16] const=f32[16,10] const=f32[1,10]",
     "{ \"kind\": \"bias\", \"tensor\": 2"},
    {"a_matrix_of_gemm", "gemm x in=f32[8,16] const=f32[16,10] const=f32[8,10]",
     "{ \"kind\": \"add\", \"tensor\": 2"},
    {"padding_of_a_ceiling",
     "max_pool x in=f32[1,16,12,12] kernel=3,3 strides=2,2 ceil_mode=yes",
     "\"pads_end\": [1, 1]"},
    {"a_mean",
     "avg_pool x in=f32[1,4,6,6] kernel=3,3 pads=1,1,1,1 count_include_pad=yes",
     "\"counts_padding\": true"},
    {"an_axis_from_the_end", "softmax x in=f32[4,5,6] axis=-2", "\"axis\": 1"},
};

static row refusals[] = {
    {"refuses_another_operator", "add x in=f32[4,8] const=f32[8]",
     "libraries are not asked for 'add': for conv, matmul, gemm, max_pool, avg_pool "
     "and "
     "softmax"},
    {"refuses_another_tail", "conv x h=4 ic=8 oc=8 k=3 act=cosh",
     "libraries are not asked for 'cosh' behind 'conv'"},
    {"refuses_another_dtype", "matmul x m=3 k=5 n=7 dtype=f64",
     "libraries are given f32 or f16 alone: 'a' is f64"},
    {"refuses_three_axes", "conv x in=f32[1,8,20] const=f32[8,8,3]",
     "'conv' of rank 3: libraries are given images, rank 4"},
    {"refuses_a_scaled_product",
     "gemm x in=f32[8,16] const=f32[16,10] const=f32[10] alpha=0.5",
     "gemm with an alpha or beta that is not 1"},
    {"refuses_a_column_of_gemm", "gemm x in=f32[8,16] const=f32[16,10] const=f32[8,1]",
     "gemm that adds neither a row nor a matrix"},
    {"refuses_a_vector", "matmul x in=f32[8,16] const=f32[16]",
     "a matrix product with a vector"},
    {"refuses_padding_beyond_padding",
     "avg_pool x in=f32[1,4,12,12] kernel=3,3 strides=2,2 ceil_mode=yes "
     "count_include_pad=yes",
     "a mean that counts its padding, but not what its last window covers beyond it"},
};

static const char *json_of(const kiln_library_op *op) {
    kiln_buf text;
    kiln_json_writer w;
    kiln_buf_init(&text, kiln_test_arena());
    kiln_json_writer_init(&w, &text);
    kiln_library_op_put(&w, op);
    return text.p;
}

static const char *squeezed(const char *text) {
    kiln_buf out;
    kiln_buf_init(&out, kiln_test_arena());
    for (const char *c = text; *c != '\0'; c++) {
        const char blank = *c == '\n' ? ' ' : *c;
        if (blank != ' ' || out.n == 0 || out.p[out.n - 1] != ' ')
            kiln_buf_add(&out, &blank, 1);
    }
    kiln_buf_puts(&out, "");
    return out.p;
}

static void check_description(void **state) {
    const row *r = *state;
    kiln_err err = {.status = KILN_OK};
    kiln_test_described d;
    kiln_library_op again;
    const kiln_json *doc;
    kiln_assert_status_ok(kiln_test_describe(r->line, &d, &err), &err);
    const char *text = json_of(&d.op);
    if (strstr(squeezed(text), r->text) == NULL)
        fail_msg("'%s' is not in: %s", r->text, squeezed(text));
    kiln_assert_status_ok(
        kiln_json_parse(kiln_test_arena(), kiln_str_from(text), "op", &doc, &err),
        &err);
    kiln_assert_status_ok(kiln_library_op_get(kiln_test_arena(), doc, &again, &err),
                          &err);
    assert_string_equal(json_of(&again), text);
}

static void check_refusal(void **state) {
    const row *r = *state;
    kiln_err err = {.status = KILN_OK};
    kiln_test_described d;
    kiln_assert_fails(kiln_test_describe(r->line, &d, &err), KILN_ERR_UNSUPPORTED, &err,
                      r->text);
}

/* ---- what is no description ------------------------------------------------------ */

typedef struct broken_row {
    const char *name, *from, *to; /* `from` is replaced in a good one */
    const char *member;
} broken_row;

static broken_row broken[] = {
    {"refuses_a_kind", "\"conv\"", "\"convolve\"", "kind"},
    {"refuses_three_strides", "\"strides\": [1, 1]", "\"strides\": [1, 1, 1]",
     "strides"},
    {"refuses_negative_padding", "\"pads_end\": [1, 1]", "\"pads_end\": [1, -1]",
     "pads_end"},
    {"refuses_no_groups", "\"groups\": 1", "\"groups\": 0", "groups"},
    {"refuses_a_text_for_a_number", "\"axis\": 0", "\"axis\": \"0\"", "axis"},
    {"refuses_a_tail", "\"relu\"", "\"really\"", "kind"},
    {"refuses_a_tensor_that_is_none", "\"tensor\": 2", "\"tensor\": 3", "tensor"},
    {"refuses_operands_for_a_bias", "\"tensor\": 2", "\"tensor\": 1", "tensor"},
    {"refuses_too_many_operands", "\"operands\": 2", "\"operands\": 9", "operands"},
    {"refuses_a_missing_output", "\"output\"", "\"outlet\"", "output"},
};

static void check_broken(void **state) {
    const broken_row *r = *state;
    kiln_arena *a = kiln_test_arena();
    kiln_err err = {.status = KILN_OK};
    kiln_test_described d;
    kiln_library_op op;
    const kiln_json *doc;
    kiln_assert_status_ok(
        kiln_test_describe("conv x h=4 ic=8 oc=8 k=3 bias=yes act=relu", &d, &err),
        &err);
    const char *text = kiln_test_replaced(json_of(&d.op), r->from, r->to);
    kiln_assert_status_ok(kiln_json_parse(a, kiln_str_from(text), "op", &doc, &err),
                          &err);
    kiln_assert_fails(kiln_library_op_get(a, doc, &op, &err), KILN_ERR_PARSE, &err,
                      kiln_format(a, "the operator's '%s' is not there", r->member));
}

int main(void) {
    kiln_test_add_rows(check_description, rows);
    kiln_test_add_rows(check_refusal, refusals);
    kiln_test_add_rows(check_broken, broken);
    return kiln_test_run("describe");
}
