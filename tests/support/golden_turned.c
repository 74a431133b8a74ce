#include "tests/support/golden_turned.h"

#include "compiler/frontend/frontend.h"

enum { N, H, W, C, RANK };

static kiln_tensor turned(kiln_arena *a, const kiln_tensor *t) {
    const int64_t *const d = t->type.dim;
    const int64_t dim[RANK] = {d[N], d[C], d[H], d[W]};
    const kiln_type type = kiln_type_make(t->type.dtype, RANK, dim);
    const kiln_tensor out = kiln_tensor_new(a, &type);
    const float *const from = t->data;
    float *to = out.data;
    for (int64_t n = 0; n < d[N]; n++)
        for (int64_t c = 0; c < d[C]; c++)
            for (int64_t p = 0; p < d[H] * d[W]; p++)
                *to++ = from[(n * d[H] * d[W] + p) * d[C] + c];
    return out;
}

static kiln_status turn_one(kiln_arena *a, const char *golden, const char *folder,
                            const kiln_json *j, kiln_json_writer *w, kiln_err *err) {
    const char *const npy = kiln_json_string(kiln_json_get(j, "npy"), "");
    kiln_tensor t;
    KILN_TRY(kiln_tensor_read_npy(a, kiln_path_join(a, golden, npy), &t, err));
    if (t.type.rank != RANK || t.type.dtype != KILN_F32)
        return kiln_fail(err, KILN_ERR_SHAPE, "'%s' must be f32 of 4 axes, is %s", npy,
                         kiln_type_text(a, &t.type));
    t = turned(a, &t);
    KILN_TRY(kiln_tensor_write_npy(kiln_path_join(a, folder, npy), &t, err));
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "dtype", "float32");
    kiln_json_name(w, "shape");
    kiln_json_begin_row(w);
    for (int i = 0; i < RANK; i++)
        kiln_json_put_i64(w, t.type.dim[i]);
    kiln_json_end_array(w);
    kiln_json_member_str(w, "npy", npy);
    kiln_json_end_object(w);
    return KILN_OK;
}

kiln_status kiln_test_turn_golden(kiln_arena *a, const char *golden, const char **out,
                                  kiln_err *err) {
    static const char *const sides[] = {"inputs", "outputs"};
    const kiln_json *doc = NULL;
    kiln_buf text;
    kiln_json_writer w;
    KILN_TRY(kiln_json_read(a, kiln_path_join(a, golden, "golden.json"), &doc, err));
    KILN_TRY(kiln_dir_temp(a, out, err));
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    kiln_json_begin_object(&w);
    kiln_json_name(&w, "cases");
    kiln_json_begin_array(&w);
    for (const kiln_json *c = kiln_json_first(kiln_json_get(doc, "cases")); c != NULL;
         c = kiln_json_next(c)) {
        kiln_json_begin_object(&w);
        for (int side = 0; side < 2; side++) {
            kiln_json_name(&w, sides[side]);
            kiln_json_begin_array(&w);
            for (const kiln_json *j = kiln_json_first(kiln_json_get(c, sides[side]));
                 j != NULL; j = kiln_json_next(j))
                KILN_TRY(turn_one(a, golden, *out, j, &w, err));
            kiln_json_end_array(&w);
        }
        kiln_json_end_object(&w);
    }
    kiln_json_end_array(&w);
    kiln_json_end_object(&w);
    return kiln_file_write(kiln_path_join(a, *out, "golden.json"), text.p, text.n, err);
}
