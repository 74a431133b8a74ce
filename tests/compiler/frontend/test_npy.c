/* .npy files: what numpy writes is read, what kiln writes reads back, all else is
 * refused. */
#include <string.h>

#include "compiler/frontend/frontend.h"
#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name;
    int version;
    const char *header;
    size_t n_data; /* bytes 0, 1, 2, ... behind the header */
    kiln_status want;
    const char *text; /* of the message, or the type read */
} row;

#define HEADER(descr, order, shape)                                                    \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }  \n"

static row rows[] = {
    {"version_1", 1, HEADER("<f4", "False", "(2, 3)"), 24, KILN_OK, "f32[2,3]"},
    {"version_2", 2, HEADER("<i8", "False", "(2,)"), 16, KILN_OK, "i64[2]"},
    {"version_3", 3, HEADER("<f2", "False", "()"), 2, KILN_OK, "f16[]"},
    {"one_byte_types_have_no_order", 1, HEADER("|u1", "False", "(3,)"), 3, KILN_OK,
     "u8[3]"},
    {"bool", 1, HEADER("|b1", "False", "(3,)"), 3, KILN_OK, "bool[3]"},
    {"zero_size", 1, HEADER("<f8", "True", "(0, 4)"), 0, KILN_OK, "f64[0,4]"},
    {"keys_in_another_order", 1,
     "{\"shape\": (1,), \"fortran_order\": False, \"descr\": \"<f4\"}", 4, KILN_OK,
     "f32[1]"},
    {"version_4", 4, HEADER("<f4", "False", "(1,)"), 4, KILN_ERR_UNSUPPORTED,
     "version must be 1 to 3, is 4"},
    {"big_endian", 1, HEADER(">f4", "False", "(1,)"), 4, KILN_ERR_UNSUPPORTED,
     "element type '>f4' is not read"},
    {"objects", 1, HEADER("|O", "False", "(1,)"), 8, KILN_ERR_UNSUPPORTED,
     "element type '|O' is not read"},
    {"structures", 1,
     "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4,
     KILN_ERR_UNSUPPORTED, "structured element types"},
    {"too_few_bytes", 1, HEADER("<f4", "False", "(2, 3)"), 23, KILN_ERR_PARSE,
     "f32[2,3] needs 24 bytes behind the header, the file has 23"},
    {"too_many_bytes", 1, HEADER("<f4", "False", "(2, 3)"), 25, KILN_ERR_PARSE,
     "the file has 25"},
    {"absurd_shape", 1, HEADER("<f4", "False", "(4000000000, 4000000000)"), 4,
     KILN_ERR_LIMIT, ""},
    {"number_out_of_range", 1, HEADER("<f4", "False", "(99999999999999999999,)"), 4,
     KILN_ERR_PARSE, "tuple of at most 8 numbers"},
    {"rank_9", 1, HEADER("<f4", "False", "(1,1,1,1,1,1,1,1,1)"), 4, KILN_ERR_PARSE,
     "tuple of at most 8 numbers"},
    {"negative_dimension", 1, HEADER("<f4", "False", "(-1,)"), 4, KILN_ERR_PARSE,
     "tuple of at most 8 numbers"},
    {"missing_entry", 1, "{'descr': '<f4', 'shape': (1,)}", 4, KILN_ERR_PARSE,
     "must hold descr, fortran_order and shape"},
    {"unknown_entry", 1, "{'descr': '<f4', 'color': 3}", 4, KILN_ERR_PARSE,
     "unknown header entry 'color'"},
    {"cut_header", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,", 4,
     KILN_ERR_PARSE, "npy:"},
    {"no_dictionary", 1, "hello", 4, KILN_ERR_PARSE, "no dictionary"},
};

static kiln_str make(kiln_arena *a, int version, const char *header, size_t n_data) {
    kiln_buf b;
    kiln_buf_init(&b, a);
    kiln_buf_add(&b, "\x93NUMPY", 6);
    const size_t n = strlen(header);
    const char start[6] = {(char)version, 0, (char)(n & 0x7f), (char)(n >> 7), 0, 0};
    assert_true(n < 128);
    kiln_buf_add(&b, start, version == 1 ? 4 : 6);
    kiln_buf_puts(&b, header);
    for (size_t i = 0; i < n_data; i++) {
        const char c = (char)i;
        kiln_buf_add(&b, &c, 1);
    }
    return kiln_buf_str(&b);
}

static void check_decode(void **state) {
    const row *const r = *state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_tensor t;
    const kiln_str file = make(a, r->version, r->header, r->n_data);
    const kiln_status st = kiln_tensor_decode_npy(a, file, &t, &err);
    if (r->want != KILN_OK) {
        kiln_assert_fails(st, r->want, &err, r->text);
        return;
    }
    kiln_assert_status_ok(st, &err);
    assert_string_equal(kiln_type_text(a, &t.type), r->text);
    for (size_t i = 0; i < r->n_data && t.type.dtype != KILN_BOOL; i++)
        assert_int_equal(((const unsigned char *)t.data)[i], i);
}

/* Column-major files: element (i, j) is the (i + 2 j)-th. */
static void reorders_fortran(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_tensor t;
    const kiln_str file = make(a, 1, HEADER("|i1", "True", "(2, 3)"), 6);
    static const int8_t want[6] = {0, 2, 4, 1, 3, 5};
    kiln_assert_status_ok(kiln_tensor_decode_npy(a, file, &t, &err), &err);
    assert_memory_equal(t.data, want, sizeof want);
}

static void reads_what_it_writes(void **state) {
    (void)state;
    static const int64_t dim[2] = {3, 5};
    kiln_arena *const a = kiln_test_arena();
    const char *const path = kiln_path_join(a, kiln_test_dir(), "t.npy");
    for (int d = 0; d < KILN_N_DTYPES; d++) {
        kiln_err err = {0};
        for (int rank = 0; rank <= 2; rank++) {
            const kiln_type type = kiln_type_make((kiln_dtype)d, rank, dim);
            const kiln_tensor t = kiln_tensor_new(a, &type);
            const size_t bytes = (size_t)kiln_type_bytes(&type);
            kiln_tensor back;
            memset(t.data, 1, bytes);
            if (kiln_dtype_get((kiln_dtype)d)->numpy == NULL) {
                kiln_assert_fails(kiln_tensor_write_npy(path, &t, &err),
                                  KILN_ERR_UNSUPPORTED, &err, "cannot be written");
                kiln_err_clear(&err);
                continue;
            }
            kiln_assert_status_ok(kiln_tensor_write_npy(path, &t, &err), &err);
            kiln_assert_status_ok(kiln_tensor_read_npy(a, path, &back, &err), &err);
            /* Low-bit types come back as bytes. */
            assert_int_equal(back.type.dtype, kiln_dtype_stored((kiln_dtype)d));
            kiln_assert_status_ok(kiln_tensor_from_bytes(&back, (kiln_dtype)d, &err),
                                  &err);
            assert_true(kiln_type_eq(&t.type, &back.type));
            assert_memory_equal(t.data, back.data, bytes);
        }
    }
}

static void bytes_must_fit_their_type(void **state) {
    (void)state;
    static unsigned char bytes[3] = {1, 15, 16};
    static signed char small[3] = {-8, 7, 8};
    const int64_t n = 3;
    kiln_err err = {0};
    kiln_tensor u = {kiln_type_make(KILN_U8, 1, &n), bytes};
    kiln_tensor i = {kiln_type_make(KILN_I8, 1, &n), small};
    kiln_assert_fails(kiln_tensor_from_bytes(&u, KILN_F4E2M1, &err), KILN_ERR_SHAPE,
                      &err, "element 2 must be 0 to 15, a byte of f4e2m1, is 16");
    kiln_err_clear(&err);
    kiln_assert_fails(kiln_tensor_from_bytes(&i, KILN_I4, &err), KILN_ERR_SHAPE, &err,
                      "element 2 must be -8 to 7, a byte of i4, is 8");
    kiln_err_clear(&err);
    /* What is not stored so is left to who compares the types. */
    kiln_assert_status_ok(kiln_tensor_from_bytes(&i, KILN_U4, &err), &err);
    assert_int_equal(i.type.dtype, KILN_I8);
    kiln_assert_status_ok(kiln_tensor_from_bytes(&u, KILN_F8E5M2, &err), &err);
    assert_int_equal(u.type.dtype, KILN_F8E5M2);
}

static void names_the_file(void **state) {
    (void)state;
    kiln_arena *const a = kiln_test_arena();
    kiln_err err = {0};
    kiln_tensor t;
    const char *const path = kiln_path_join(a, kiln_test_dir(), "broken.npy");
    kiln_assert_status_ok(kiln_file_write(path, "hello world", 11, &err), &err);
    kiln_assert_fails(kiln_tensor_read_npy(a, path, &t, &err), KILN_ERR_PARSE, &err,
                      "broken.npy");
}

int main(void) {
    kiln_test_add_rows(check_decode, rows);
    kiln_test_add("reorders_fortran", reorders_fortran, NULL);
    kiln_test_add("reads_what_it_writes", reads_what_it_writes, NULL);
    kiln_test_add("names_the_file", names_the_file, NULL);
    kiln_test_add("bytes_must_fit_their_type", bytes_must_fit_their_type, NULL);
    return kiln_test_run("npy");
}
