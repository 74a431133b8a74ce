/* Types: limits, layouts, text, broadcasting; conversion to the wide form and back. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "compiler/graph/graph.h"
#include "tests/support/kiln_test.h"

/* ---- text: what is read prints the same, or is refused --------------------------- */

typedef struct text_row {
    const char *name, *text;
    const char *prints; /* NULL: as it is */
    kiln_status want;
    const char *message;
    int64_t elems, stored; /* when want is KILN_OK */
} text_row;

static text_row text_rows[] = {
    {"reads_scalar", "f32[]", .elems = 1, .stored = 1},
    {"reads_image", "u8[1,3,224,224]", .elems = 150528, .stored = 150528},
    {"reads_empty_axis", "bool[0,5]", .elems = 0, .stored = 0},
    {"reads_eight_axes", "i64[1,2,1,2,1,2,1,2]", .elems = 16, .stored = 16},
    {"reads_largest_value", "bf16[1099511627776]", .elems = KILN_MAX_ELEMS,
     .stored = KILN_MAX_ELEMS},
    {"reads_channels_last", "f32[1,64,56,56]{order=0231}", .elems = 200704,
     .stored = 200704},
    {"drops_identity_order", "f16[2,3]{order=01}", "f16[2,3]", .elems = 6, .stored = 6},
    {"pads_blocked_axis", "f32[1,20,7,7]{block=1x16,facts=tail_zero}", .elems = 980,
     .stored = 1568},
    {"reads_two_blocks", "f32[64,60,3,3]{block=1x16,0x16}", .elems = 34560,
     .stored = 36864},
    {"reads_two_blocks_of_one_axis", "f32[20]{block=0x4,0x2}", .elems = 20,
     .stored = 24},
    {"stores_nothing_of_empty_blocks", "f32[0,20]{block=1x16}", .elems = 0,
     .stored = 0},
    {"reads_all_parts",
     "f64[2,4]{order=10,block=1x2,device=1,space=255,facts=tail_zero}", .elems = 8,
     .stored = 8},
    {"reads_place", "i8[8]{device=1,space=2}", .elems = 8, .stored = 8},
    {"rejects_unknown_dtype", "f31[2]", .want = KILN_ERR_PARSE,
     .message = "'f31' is no element type"},
    {"rejects_nothing", "", .want = KILN_ERR_PARSE,
     .message = "expected a type such as f32[1,3], the text ends"},
    {"rejects_missing_shape", "f32", .want = KILN_ERR_PARSE,
     .message = "expected '[' before the extents, the text ends"},
    {"rejects_open_shape", "f32[1,2", .want = KILN_ERR_PARSE,
     .message = "expected ',' or ']', the text ends"},
    {"rejects_negative_extent", "f32[2,-1]", .want = KILN_ERR_SHAPE,
     .message = "axis 1 must have an extent >= 0, has -1"},
    {"rejects_extent_past_int64", "f32[9223372036854775808]", .want = KILN_ERR_PARSE,
     .message = "expected an extent, found '9'"},
    {"rejects_nine_axes", "f32[1,1,1,1,1,1,1,1,1]", .want = KILN_ERR_LIMIT,
     .message = "rank must be in [0, 8], is larger"},
    {"rejects_too_many_elements", "f32[1048576,1048577]", .want = KILN_ERR_LIMIT,
     .message = "at most 2^40 elements; axis 1 with extent 1048577"},
    {"rejects_hugeness_behind_empty_axis", "f32[0,9223372036854775807,4]",
     .want = KILN_ERR_LIMIT, .message = "axis 1 with extent 9223372036854775807"},
    {"rejects_blocks_that_blow_up", "f32[1099511627776]{block=0x2147483647}",
     .want = KILN_ERR_LIMIT, .message = "the blocks of its layout"},
    {"rejects_blocks_of_empty_axes_that_blow_up",
     "f32[0,0]{block=0x2147483647,1x2147483647}", .want = KILN_ERR_LIMIT,
     .message = "the blocks of its layout"},
    {"rejects_repeated_order_axis", "f32[2,3]{order=00}", .want = KILN_ERR_SHAPE,
     .message = "permutation of the 2 axes, has axis 0 at place 1"},
    {"rejects_short_order", "f32[2,3]{order=0}", .want = KILN_ERR_SHAPE,
     .message = "layout order must name each of 2 axes once, has 1"},
    {"rejects_block_past_rank", "f32[2]{block=1x4}", .want = KILN_ERR_SHAPE,
     .message = "layout block axis must be below the rank 1, is 1"},
    {"rejects_empty_block", "f32[2]{block=0x0}", .want = KILN_ERR_SHAPE,
     .message = "layout block size must be >= 1, is 0"},
    {"rejects_five_blocks", "f32[2]{block=0x1,0x1,0x1,0x1,0x1}", .want = KILN_ERR_LIMIT,
     .message = "a layout has at most 4 blocks"},
    {"rejects_unknown_part", "f32[2]{colour=1}", .want = KILN_ERR_PARSE,
     .message =
         "expected order=, block=, device=, space= or facts=tail_zero, found 'c'"},
    {"rejects_device_past_a_byte", "f32[2]{device=256}", .want = KILN_ERR_PARSE,
     .message = "expected a number in [0, 255]"},
    {"rejects_control_byte", "f32[\x01", .want = KILN_ERR_PARSE,
     .message = "expected an extent, found byte 0x01"},
};

static void check_text(void **state) {
    const text_row *const row = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_type t;
    kiln_str rest = kiln_str_from(row->text);
    const kiln_status st = kiln_type_parse(&rest, &t, &err);
    if (row->want != KILN_OK) {
        kiln_assert_fails(st, row->want, &err, row->message);
        return;
    }
    kiln_assert_status_ok(st, &err);
    assert_int_equal(rest.n, 0);
    assert_string_equal(kiln_type_text(a, &t), row->prints ? row->prints : row->text);
    assert_int_equal(kiln_type_elems(&t), row->elems);
    assert_int_equal(kiln_type_stored_elems(&t), row->stored);
    assert_int_equal(kiln_type_bytes(&t),
                     row->stored * (int64_t)kiln_dtype_bytes(t.dtype));
}

static void check_parse_stops_behind_the_type(void **state) {
    (void)state;
    kiln_str rest = KILN_STR_LIT("f32[2] rest");
    kiln_type t;
    kiln_assert_status_ok(kiln_type_parse(&rest, &t, NULL), NULL);
    assert_true(kiln_str_is(rest, " rest"));
}

/* ---- equality -------------------------------------------------------------------- */

static kiln_type type_of(const char *text) {
    kiln_str rest = kiln_str_from(text);
    kiln_type t;
    kiln_err err = {0};
    kiln_assert_status_ok(kiln_type_parse(&rest, &t, &err), &err);
    return t;
}

/* ---- names of layouts ------------------------------------------------------------ */

typedef struct layout_row {
    const char *name, *type, *want;
} layout_row;

static layout_row layouts[] = {
    {"calls_row_major_by_its_axes", "f32[1,3,8,8]", "NCHW"},
    {"calls_blocks_of_channels", "f32[1,64,56,56]{block=1x16}", "NCHW16c"},
    {"calls_channels_last", "f32[1,64,56,56]{order=0231}", "NHWC"},
    {"calls_two_blocks", "f32[64,64,3,3]{block=1x16,0x8}", "NCHW16c8n"},
    {"calls_three_axes", "f32[1,4,9]", "NCW"},
    {"calls_five_axes", "f32[1,4,9,9,9]{block=1x4}", "NCDHW4c"},
    {"calls_a_transposed_matrix", "f32[2,3]{order=10}", "CN"},
    {"calls_a_list", "f32[7]", "C"},
    {"calls_a_scalar", "f32[]", "scalar"},
    {"calls_many_axes_by_letters", "f32[1,2,3,4,5,6,7,8]{block=7x2}", "ABCDEFGH2h"},
};

static void check_layout_name(void **state) {
    const layout_row *r = *state;
    const kiln_type t = type_of(r->type);
    assert_string_equal(kiln_layout_name(kiln_test_arena(), t.rank, &t.layout),
                        r->want);
}

static void check_equality(void **state) {
    (void)state;
    static const char *const different[] = {
        "f32[2,3]",
        "f16[2,3]",
        "f32[3,2]",
        "f32[2]",
        "f32[2,3]{order=10}",
        "f32[2,3]{block=1x2}",
        "f32[2,3]{block=0x2}",
        "f32[2,3]{device=1}",
        "f32[2,3]{space=1}",
        "f32[2,3]{facts=tail_zero}",
    };
    enum { N = sizeof different / sizeof different[0] };
    for (size_t i = 0; i < N; i++) {
        const kiln_type a = type_of(different[i]);
        for (size_t j = 0; j < N; j++) {
            const kiln_type b = type_of(different[j]);
            assert_int_equal(kiln_type_eq(&a, &b), i == j);
        }
    }
    const kiln_type plain = type_of("f32[2,3]");
    const kiln_type spelled = type_of("f32[2,3]{order=01}");
    assert_true(kiln_type_eq(&plain, &spelled));
    assert_true(kiln_layout_is_plain(&spelled.layout));
}

/* ---- dtypes ---------------------------------------------------------------------- */

static void check_dtypes(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    for (int d = 0; d < KILN_N_DTYPES; d++) {
        const kiln_dtype_info *const info = kiln_dtype_get((kiln_dtype)d);
        kiln_dtype back;
        assert_true(kiln_dtype_parse(kiln_str_from(info->name), &back));
        assert_int_equal(back, d);
        const bool is_low = kiln_dtype_is_in((kiln_dtype)d, KILN_DT_LOW);
        assert_true(kiln_dtype_is_in((kiln_dtype)d, KILN_DT_STORED));
        assert_int_equal(kiln_dtype_is_in((kiln_dtype)d, KILN_DT_ANY), !is_low);
        assert_int_equal(
            kiln_dtype_is_in((kiln_dtype)d, KILN_DT_FLOAT | KILN_DT_LOW_FLOAT),
            info->is_float);
        const kiln_dtype stored = kiln_dtype_stored((kiln_dtype)d);
        assert_true(kiln_dtype_is_in(stored, KILN_DT_ANY));
        assert_int_equal(kiln_dtype_bytes(stored), info->bytes);
        assert_int_equal(stored != (kiln_dtype)d, is_low);
        assert_int_equal(kiln_dtype_remedy((kiln_dtype)d)[0] != '\0', is_low);
        if (kiln_dtype_is_in((kiln_dtype)d, KILN_DT_LOW_INT))
            assert_int_equal(info->max_i - info->min_i + 1,
                             1 << kiln_dtype_bits((kiln_dtype)d));
        assert_true(info->numpy != NULL || d == KILN_BF16);
        assert_int_equal(info->is_float, info->mantissa_bits > 0);
    }
    kiln_dtype d;
    assert_false(kiln_dtype_parse(KILN_STR_LIT("f3"), &d));
    assert_string_equal(kiln_dtype_set_text(a, 0), "nothing");
    assert_string_equal(kiln_dtype_set_text(a, KILN_DT(KILN_I8)), "i8");
    assert_string_equal(kiln_dtype_set_text(a, KILN_DT_FLOAT), "f32, f16, bf16 or f64");
}

/* ---- broadcasting and axes ------------------------------------------------------- */

typedef struct broadcast_row {
    const char *name, *a, *b, *want; /* want NULL: refused */
    const char *message;
} broadcast_row;

static broadcast_row broadcast_rows[] = {
    {"broadcasts_scalar", "f32[]", "f32[2,3]", .want = "[2,3]"},
    {"broadcasts_row_and_column", "f32[3]", "f32[2,1]", .want = "[2,3]"},
    {"broadcasts_one_to_nothing", "f32[1]", "f32[0]", .want = "[0]"},
    {"broadcasts_equal_shapes", "f32[4,5]", "f32[4,5]", .want = "[4,5]"},
    {"rejects_two_against_three", "f32[2,2]", "f32[3]",
     .message =
         "shapes [2,2] and [3] do not broadcast: axis 1 must be equal or 1, is 2 "
         "and 3"},
    {"rejects_nothing_against_two", "f32[0]", "f32[2]", .message = "is 0 and 2"},
};

static void check_broadcast(void **state) {
    const broadcast_row *const row = *state;
    const kiln_type a = type_of(row->a);
    const kiln_type b = type_of(row->b);
    int rank = 0;
    int64_t dim[KILN_MAX_RANK] = {0};
    kiln_err err = {0};
    const kiln_status st = kiln_broadcast(&a, &b, &rank, dim, &err);
    if (row->want == NULL) {
        kiln_assert_fails(st, KILN_ERR_SHAPE, &err, row->message);
        return;
    }
    kiln_assert_status_ok(st, &err);
    assert_string_equal(kiln_shape_text(kiln_test_arena(), rank, dim), row->want);
}

static void check_axes(void **state) {
    (void)state;
    kiln_err err = {0};
    int axis = 7;
    kiln_assert_status_ok(kiln_axis_normalize(-4, 4, &axis, &err), &err);
    assert_int_equal(axis, 0);
    kiln_assert_status_ok(kiln_axis_normalize(3, 4, &axis, &err), &err);
    assert_int_equal(axis, 3);
    kiln_assert_fails(kiln_axis_normalize(4, 4, &axis, &err), KILN_ERR_SHAPE, &err,
                      "axis 4 is outside [-4, 4)");
    err = (kiln_err){0};
    kiln_assert_fails(kiln_axis_normalize(INT64_MIN, 0, &axis, &err), KILN_ERR_SHAPE,
                      &err, "axis -9223372036854775808 is outside [0, 0)");
    const int64_t dim[3] = {2, 3, 4};
    int64_t stride[3];
    kiln_strides(3, dim, stride);
    assert_int_equal(stride[0], 12);
    assert_int_equal(stride[1], 4);
    assert_int_equal(stride[2], 1);
}

/* ---- wide ------------------------------------------------------------------------ */

typedef struct round_row {
    const char *name;
    kiln_dtype dtype;
    double f, want_f;
    int64_t i, want_i;
} round_row;

static round_row round_rows[] = {
    {"f32_ties_to_even", KILN_F32, .f = 0x1.000001p0, .want_f = 0x1p0},
    {"f32_overflows_to_infinity", KILN_F32, .f = 1e39, .want_f = (double)INFINITY},
    {"f32_keeps_subnormals", KILN_F32, .f = 0x1p-149, .want_f = 0x1p-149},
    {"f16_rounds_once", KILN_F16, .f = 0x1.0020000001p0, .want_f = 0x1.004p0},
    {"f16_overflows_to_infinity", KILN_F16, .f = 65520, .want_f = (double)INFINITY},
    {"bf16_ties_to_even", KILN_BF16, .f = 0x1.01p0, .want_f = 0x1p0},
    {"f64_stays", KILN_F64, .f = 0x1.23456789abcdep-1000,
     .want_f = 0x1.23456789abcdep-1000},
    {"i8_wraps", KILN_I8, .i = 128, .want_i = -128},
    {"u8_wraps", KILN_U8, .i = -1, .want_i = 255},
    {"i16_wraps", KILN_I16, .i = -32769, .want_i = 32767},
    {"u16_wraps", KILN_U16, .i = 65536, .want_i = 0},
    {"i32_wraps", KILN_I32, .i = INT64_C(1) << 31, .want_i = INT32_MIN},
    {"u32_wraps", KILN_U32, .i = -2, .want_i = 4294967294},
    {"i64_stays", KILN_I64, .i = INT64_MIN, .want_i = INT64_MIN},
    {"u64_keeps_its_bits", KILN_U64, .i = -1, .want_i = -1},
    {"bool_is_not_zero", KILN_BOOL, .i = 256, .want_i = 1},
};

/* Rounding in place, through native bytes and of one number are the same. */
static void check_round(void **state) {
    const round_row *const row = *state;
    kiln_arena *const a = kiln_test_arena();
    /* Eleven elements, so that vector loops have a tail. */
    const int64_t n = 11;
    const kiln_type t = kiln_type_make(row->dtype, 1, &n);
    kiln_wide w = kiln_wide_new(a, &t);
    for (int64_t k = 0; k < n; k++) {
        if (w.f != NULL)
            w.f[k] = row->f;
        else
            w.i[k] = row->i;
    }
    /* One byte off, as in a mapped file. */
    unsigned char *const bytes = kiln_array(a, unsigned char, kiln_type_bytes(&t) + 1);
    kiln_wide back = kiln_wide_new(a, &t);
    kiln_narrow(&w, bytes + 1);
    kiln_widen(&t, bytes + 1, &back);
    kiln_wide_round(&w);
    for (int64_t k = 0; k < n; k++) {
        if (w.f != NULL) {
            assert_true(w.f[k] == row->want_f && back.f[k] == row->want_f);
            assert_true(kiln_round_f64(row->dtype, row->f) == row->want_f);
        } else {
            assert_int_equal(w.i[k], row->want_i);
            assert_int_equal(back.i[k], row->want_i);
            assert_int_equal(kiln_wrap_i64(row->dtype, row->i), row->want_i);
        }
    }
}

/* One element alone is what it is among others: any byte, of every dtype. */
static void check_one_element(void **state) {
    (void)state;
    for (int d = 0; d < KILN_N_DTYPES; d++) {
        const kiln_dtype dtype = (kiln_dtype)d;
        const kiln_type t = kiln_type_scalar(dtype);
        const size_t bytes = kiln_dtype_bytes(dtype);
        double f = 0;
        int64_t i = 0;
        const bool is_float = kiln_dtype_is_float(dtype);
        kiln_wide w = {.type = t, .f = is_float ? &f : NULL, .i = is_float ? NULL : &i};
        for (int k = 0; k < 256; k++) {
            unsigned char x[9], y[9] = {0}, z[9] = {0}; /* one byte off */
            memset(x, k, sizeof x);
            kiln_widen(&t, x + 1, &w);
            kiln_narrow(&w, y + 1);
            if (is_float) {
                const double v = kiln_load_f64(dtype, x + 1);
                assert_true(isnan(f) ? isnan(v) : v == f);
                kiln_store_f64(dtype, f, z + 1);
            } else {
                assert_int_equal(kiln_load_i64(dtype, x + 1), i);
                kiln_store_i64(dtype, i, z + 1);
            }
            assert_memory_equal(y + 1, z + 1, bytes);
        }
    }
}

static void check_special_floats(void **state) {
    (void)state;
    static const kiln_dtype floats[] = {KILN_F32, KILN_F16, KILN_BF16, KILN_F64};
    for (size_t d = 0; d < sizeof floats / sizeof floats[0]; d++) {
        assert_true(isnan(kiln_round_f64(floats[d], (double)NAN)));
        assert_true(signbit(kiln_round_f64(floats[d], -0.0)));
        assert_true(kiln_round_f64(floats[d], -(double)INFINITY) == -(double)INFINITY);
    }
}

static void check_tensors(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    const kiln_type t = type_of("f32[3]");
    const kiln_tensor x = kiln_tensor_new(a, &t);
    assert_int_equal((uintptr_t)x.data % 64, 0);
    assert_true(memcmp(x.data, "\0\0\0\0\0\0\0\0\0\0\0\0", 12) == 0);
    const kiln_type empty = type_of("f32[0]");
    assert_non_null(kiln_tensor_new(a, &empty).data);
    kiln_wide none = kiln_wide_new(a, &empty);
    kiln_wide_round(&none);
    assert_non_null(none.f);
}

int main(void) {
    kiln_test_add_rows(check_text, text_rows);
    kiln_test_add("parse_stops_behind_the_type", check_parse_stops_behind_the_type,
                  NULL);
    kiln_test_add_rows(check_layout_name, layouts);
    kiln_test_add("types_differ_in_each_part", check_equality, NULL);
    kiln_test_add("dtypes_are_consistent", check_dtypes, NULL);
    kiln_test_add_rows(check_broadcast, broadcast_rows);
    kiln_test_add("axes_are_normalised", check_axes, NULL);
    kiln_test_add_rows(check_round, round_rows);
    kiln_test_add("one_element_alone_is_the_same", check_one_element, NULL);
    kiln_test_add("special_floats_survive", check_special_floats, NULL);
    kiln_test_add("tensors_are_aligned_and_zeroed", check_tensors, NULL);
    return kiln_test_run("type");
}
