/* Tensors of a package in files: how files are called after inputs and outputs, and
 * what becomes of types that .npy does not know.
 *
 * A name of a model may hold anything. Letters, digits, '_', '-' and '.' (not as the
 * first) stay; every other byte is %XX, as in RFC 3986: "onnx::Gather_334" is
 * onnx%3A%3AGather_334.npy, and no two names share a file. */
#include <string.h>

#include "pipeline/package/package.h"

enum {
    MAX_FILE_NAME = 255, /* bytes that common file systems allow */
    ENDING_BYTES = 4
};

static bool stays(const char *name, size_t i) {
    const char c = name[i];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || (c == '.' && i > 0);
}

char *kiln_port_file_name(kiln_arena *a, const char *name, size_t index) {
    static const char digit[] = "0123456789ABCDEF";
    const size_t n = strlen(name);
    kiln_buf b;
    kiln_buf_init(&b, a);
    for (size_t i = 0; i < n && b.n <= MAX_FILE_NAME; i++) {
        const unsigned char c = (unsigned char)name[i];
        const char coded[] = {'%', digit[c >> 4], digit[c & 15]};
        if (stays(name, i))
            kiln_buf_add(&b, name + i, 1);
        else
            kiln_buf_add(&b, coded, sizeof coded);
    }
    /* '%' and no digit of 16: no other name's. */
    if (n == 0 || b.n + ENDING_BYTES > MAX_FILE_NAME)
        return kiln_format(a, "%%output-%zu.npy", index);
    kiln_buf_puts(&b, ".npy");
    return kiln_str_dupv(a, kiln_buf_str(&b));
}

static int value_of(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool kiln_port_name_of(kiln_arena *a, const char *text, const char **out) {
    char *const name = kiln_str_dup(a, text);
    size_t n = 0;
    for (const char *c = text; *c != '\0'; c++, n++) {
        name[n] = *c;
        if (*c != '%')
            continue;
        const int high = value_of(c[1]), low = high < 0 ? -1 : value_of(c[2]);
        if (low < 0 || high + low == 0)
            return false;
        name[n] = (char)(unsigned char)(16 * high + low);
        c += 2;
    }
    name[n] = '\0';
    *out = name;
    return true;
}

kiln_tensor kiln_tensor_as(kiln_arena *a, const kiln_tensor *t, kiln_dtype dtype,
                           int64_t *n_rounded) {
    const int64_t n = kiln_type_elems(&t->type);
    const kiln_type type = kiln_type_make(dtype, t->type.rank, t->type.dim);
    const kiln_tensor out = kiln_tensor_new(a, &type);
    kiln_arena scratch = {0};
    kiln_wide from = kiln_wide_new(&scratch, &t->type),
              to = kiln_wide_new(&scratch, &type);
    kiln_widen(&t->type, t->data, &from);
    for (int64_t i = 0; i < n; i++)
        to.f[i] = from.f[i];
    kiln_wide_round(&to);
    kiln_narrow(&to, out.data);
    for (int64_t i = 0; i < n && n_rounded != NULL; i++)
        *n_rounded += to.f[i] != from.f[i] && from.f[i] == from.f[i];
    kiln_arena_fini(&scratch);
    return out;
}

kiln_status kiln_outputs_write(kiln_arena *a, const kiln_opened *p,
                               const kiln_tensor *out, const char *dir,
                               const char ***paths, kiln_err *err) {
    const kiln_device_package *k = &p->package;
    const char **path = kiln_array(a, const char *, k->n_outputs);
    KILN_TRY(kiln_dir_make(dir, err));
    for (size_t i = 0; i < k->n_outputs; i++) {
        kiln_tensor t = out[i];
        path[i] = kiln_path_join(a, dir, kiln_port_file_name(a, k->output[i].name, i));
        if (t.type.dtype == KILN_BF16)
            t = kiln_tensor_as(a, &t, KILN_F32, NULL);
        KILN_TRY(kiln_tensor_write_npy(path[i], &t, err));
    }
    *paths = path;
    return KILN_OK;
}
