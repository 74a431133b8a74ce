/* safetensors, as kiln writes it: a length, JSON, data; docs/package-format.md.
 *
 * The format has no layouts and no padding. So a packed or padded tensor is listed with
 * one axis, of as many elements as its bytes hold, and its type in kiln's terms stands
 * in the metadata.
 */
#include "packager/packager_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_TENSORS = 1 << 20, LENGTH_BYTES = 8 };

static const char *const dtype_name[KILN_N_DTYPES] = {
    [KILN_F32] = "F32",
    [KILN_F16] = "F16",
    [KILN_BF16] = "BF16",
    [KILN_F64] = "F64",
    [KILN_I8] = "I8",
    [KILN_U8] = "U8",
    [KILN_I16] = "I16",
    [KILN_U16] = "U16",
    [KILN_I32] = "I32",
    [KILN_U32] = "U32",
    [KILN_I64] = "I64",
    [KILN_U64] = "U64",
    [KILN_BOOL] = "BOOL",
    /* What the format has no word for is U8, a byte for each element; the metadata say
     * what it is. */
    [KILN_F8E4M3FN] = "F8_E4M3",
    [KILN_F8E4M3FNUZ] = "U8",
    [KILN_F8E5M2] = "F8_E5M2",
    [KILN_F8E5M2FNUZ] = "U8",
    [KILN_F8E8M0] = "F8_E8M0",
    [KILN_F4E2M1] = "U8",
    [KILN_I4] = "U8",
    [KILN_U4] = "U8",
    [KILN_I2] = "U8",
    [KILN_U2] = "U8"};

static uint64_t padded(uint64_t bytes) {
    return (bytes + KILN_PLAN_ALIGN - 1) / KILN_PLAN_ALIGN * KILN_PLAN_ALIGN;
}

/* ---- writing --------------------------------------------------------------------- */

/* Names as the file has them: UTF-8, each once. */
static const char **unique_names(kiln_arena *a, const kiln_package_tensor *tensor,
                                 size_t n) {
    const char **name = kiln_array(a, const char *, n);
    kiln_map used = {.slot = NULL};
    static char mark;
    kiln_map_set(a, &used, KILN_STR_LIT("__metadata__"), &mark);
    for (size_t i = 0; i < n; i++) {
        const char *wanted = kiln_package_utf8(a, tensor[i].name);
        name[i] = wanted;
        for (int k = 2; kiln_map_has(&used, kiln_str_from(name[i])); k++)
            name[i] = kiln_format(a, "%s#%d", wanted, k);
        kiln_map_set(a, &used, kiln_str_from(name[i]), &mark);
    }
    return name;
}

static void put_shape(kiln_json_writer *w, const kiln_type *t, uint64_t bytes) {
    KILN_ASSERT(bytes % kiln_dtype_bytes(t->dtype) == 0,
                "%" PRIu64 " bytes are no whole elements", bytes);
    kiln_json_name(w, "shape");
    kiln_json_begin_array(w);
    if (kiln_layout_is_plain(&t->layout) && bytes == (uint64_t)kiln_type_bytes(t))
        for (int k = 0; k < t->rank; k++)
            kiln_json_put_i64(w, t->dim[k]);
    else
        kiln_json_put_i64(w, (int64_t)(bytes / kiln_dtype_bytes(t->dtype)));
    kiln_json_end_array(w);
}

static void put_tensor(kiln_json_writer *w, const char *name,
                       const kiln_package_tensor *t, uint64_t end) {
    kiln_json_name(w, name);
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "dtype", dtype_name[t->type.dtype]);
    put_shape(w, &t->type, end - t->offset);
    kiln_json_name(w, "data_offsets");
    kiln_json_begin_array(w);
    kiln_json_put_i64(w, (int64_t)t->offset);
    kiln_json_put_i64(w, (int64_t)end);
    kiln_json_end_array(w);
    kiln_json_end_object(w);
}

kiln_str kiln_package_params_head(kiln_arena *a, const kiln_package_tensor *tensor,
                                  size_t n, uint64_t bytes) {
    const char **name = unique_names(a, tensor, n);
    kiln_buf out;
    kiln_json_writer w;
    kiln_buf_init(&out, a);
    kiln_buf_add(&out, "\0\0\0\0\0\0\0", LENGTH_BYTES);
    kiln_json_writer_init(&w, &out);
    w.compact_from = 0;
    kiln_json_begin_object(&w);
    kiln_json_name(&w, "__metadata__");
    kiln_json_begin_object(&w);
    for (size_t i = 0; i < n; i++)
        kiln_json_member_str(&w, name[i], kiln_type_text(a, &tensor[i].type));
    kiln_json_end_object(&w);
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t end = at + padded((uint64_t)kiln_type_bytes(&tensor[i].type));
        KILN_ASSERT(tensor[i].offset == at,
                    "tensor '%s' is at %" PRIu64 ", not %" PRIu64, name[i],
                    tensor[i].offset, at);
        put_tensor(&w, name[i], &tensor[i], end);
        at = end;
    }
    KILN_ASSERT(at == bytes, "tensors have %" PRIu64 " bytes of %" PRIu64, at, bytes);
    kiln_json_end_object(&w);
    while (out.n % KILN_PLAN_ALIGN != 0)
        kiln_buf_puts(&out, " ");
    for (int i = 0; i < LENGTH_BYTES; i++)
        out.p[i] = (char)(unsigned char)((out.n - LENGTH_BYTES) >> (8 * i) & 0xFF);
    return kiln_buf_str(&out);
}

/* ---- reading --------------------------------------------------------------------- */

typedef struct reader {
    const char *name;
    kiln_err *err;
} reader;

static kiln_status refuse(const reader *r, const char *tensor, const char *what) {
    return kiln_fail(r->err, KILN_ERR_PARSE, "%s: tensor '%.100s' %s", r->name, tensor,
                     what);
}

/* Kilns of before had what a constant is packed to in its layout, "winograd=M", and the
 * constant's own shape [O, I, 3, 3]: what is there are M + 2 by M + 2 numbers. */
static bool parse_older(kiln_str text, kiln_type *out) {
    static const char word[] = ",winograd=";
    kiln_arena scratch = {0};
    kiln_err why = {.status = KILN_OK};
    const char *whole = kiln_str_dupv(&scratch, text), *at = strstr(whole, word);
    bool is_read = false;
    if (at != NULL && at[sizeof word - 1] >= '1' && at[sizeof word - 1] <= '9') {
        const int tile = at[sizeof word - 1] - '0';
        kiln_str rest = kiln_str_from(kiln_format(&scratch, "%.*s%s", (int)(at - whole),
                                                  whole, at + sizeof word));
        is_read = kiln_type_parse(&rest, out, &why) == KILN_OK && rest.n == 0 &&
                  out->rank == 4 && out->dim[2] == 3 && out->dim[3] == 3;
        out->dim[2] = out->dim[3] = tile + 2;
    }
    kiln_arena_fini(&scratch);
    return is_read;
}

static bool parse_type(kiln_str text, kiln_type *out) {
    kiln_err why = {.status = KILN_OK};
    kiln_str rest = text;
    return (kiln_type_parse(&rest, out, &why) == KILN_OK && rest.n == 0) ||
           parse_older(text, out);
}

/* `as_text`: the member of the metadata in the same place. */
static kiln_status read_type(const reader *r, const kiln_json *t,
                             const kiln_json *as_text, kiln_type *out) {
    const char *name = kiln_json_key(t);
    kiln_str text = {NULL, 0};
    if (as_text != NULL && strcmp(kiln_json_key(as_text), name) == 0)
        text = kiln_str_from(kiln_json_string(as_text, NULL));
    kiln_err why = {.status = KILN_OK};
    kiln_type type;
    if (text.p == NULL || !parse_type(text, &type) ||
        kiln_type_check(&type, &why) != KILN_OK)
        return refuse(r, name, "has no type in the metadata");
    const char *dtype = kiln_json_string(kiln_json_get(t, "dtype"), "");
    if (strcmp(dtype, dtype_name[type.dtype]) != 0)
        return refuse(r, name, "has two element types");
    *out = type;
    return KILN_OK;
}

/* Each tensor begins where the one before it ends. */
static kiln_status read_tensor(const reader *r, const kiln_json *t,
                               const kiln_json *as_text, uint64_t at,
                               kiln_safetensor *out) {
    const char *name = kiln_json_key(t);
    const kiln_json *offsets = kiln_json_get(t, "data_offsets");
    int64_t begin = -1, end = -1;
    KILN_TRY(read_type(r, t, as_text, &out->type));
    if (!kiln_json_i64(kiln_json_at(offsets, 0), &begin) ||
        !kiln_json_i64(kiln_json_at(offsets, 1), &end) || kiln_json_size(offsets) != 2)
        return refuse(r, name, "has no place");
    if (begin < 0 || (uint64_t)begin != at || end < begin)
        return refuse(r, name, "does not begin where the one before it ends");
    if ((uint64_t)(end - begin) != padded((uint64_t)kiln_type_bytes(&out->type)))
        return refuse(r, name, "has more or fewer bytes than its type");
    *out = (kiln_safetensor){name, out->type, (uint64_t)begin, (uint64_t)end};
    return KILN_OK;
}

static kiln_status read_head(kiln_str start, uint64_t file_bytes, const char *name,
                             kiln_str *head, kiln_err *err) {
    uint64_t n = 0;
    if (start.n < LENGTH_BYTES || file_bytes < start.n)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: %zu bytes are too few", name,
                         start.n);
    for (int i = 0; i < LENGTH_BYTES; i++)
        n |= (uint64_t)(unsigned char)start.p[i] << (8 * i);
    if (n > start.n - LENGTH_BYTES)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: its head does not fit the file",
                         name);
    if ((n + LENGTH_BYTES) % KILN_PLAN_ALIGN != 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: its data must begin at a multiple of %d bytes", name,
                         KILN_PLAN_ALIGN);
    *head = (kiln_str){start.p + LENGTH_BYTES, (size_t)n};
    return KILN_OK;
}

kiln_status kiln_safetensors_read(kiln_arena *a, kiln_str start, uint64_t file_bytes,
                                  const char *name, kiln_safetensors *out,
                                  kiln_err *err) {
    const kiln_json *root = NULL;
    kiln_str head;
    const reader r = {.name = name, .err = err};
    KILN_TRY(read_head(start, file_bytes, name, &head, err));
    KILN_TRY(kiln_json_parse(a, head, name, &root, err));
    const size_t n = kiln_json_size(root);
    const kiln_json *types = kiln_json_first(root);
    if (!kiln_json_is_object(root) || !kiln_json_is_object(types) ||
        strcmp(kiln_json_key(types), "__metadata__") != 0 || n > MAX_TENSORS)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: its head is no list of tensors behind '__metadata__'",
                         name);
    const kiln_json *as_text = kiln_json_first(types);
    kiln_safetensors s = {.tensor = kiln_array(a, kiln_safetensor, n),
                          .data = LENGTH_BYTES + head.n};
    s.bytes = file_bytes - s.data;
    uint64_t at = 0;
    for (const kiln_json *t = kiln_json_next(types); t != NULL; t = kiln_json_next(t)) {
        KILN_TRY(read_tensor(&r, t, as_text, at, &s.tensor[s.n]));
        at = s.tensor[s.n++].end;
        as_text = kiln_json_next(as_text);
    }
    if (at != s.bytes)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s: its tensors have %" PRIu64 " bytes, its data %" PRIu64,
                         name, at, s.bytes);
    *out = s;
    return KILN_OK;
}
