/* libhdf5 behind hdf5.h. Source: the HDF5 1.10 reference manual. */
#include "compiler/frontend/keras/hdf5.h"

#include <hdf5.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_TEXT = 64 << 20, MAX_TEXTS = 1 << 20, MAX_PATH_TEXT = 4096 };

struct kiln_hdf5 {
    hid_t file;
    kiln_str bytes;
};

static void close_file(void *p) {
    kiln_hdf5 *const h = p;
    H5Fclose(h->file);
}

/* ---- the file in place ----------------------------------------------------------- */

/* The driver `core` asks for memory and copies: it gets the mapped bytes themselves.
 * Opened for reading only, it never writes them. */
static void *image_malloc(size_t size, H5FD_file_image_op_t op, void *user) {
    const kiln_hdf5 *const h = user;
    (void)op;
    return size <= h->bytes.n ? (void *)(uintptr_t)h->bytes.p : NULL;
}

static void *image_memcpy(void *to, const void *from, size_t size,
                          H5FD_file_image_op_t op, void *user) {
    (void)size;
    (void)op;
    (void)user;
    return to == from ? to : NULL;
}

static void *image_realloc(void *p, size_t size, H5FD_file_image_op_t op, void *user) {
    (void)p;
    (void)size;
    (void)op;
    (void)user;
    return NULL;
}

static herr_t image_free(void *p, H5FD_file_image_op_t op, void *user) {
    (void)p;
    (void)op;
    (void)user;
    return 0;
}

static void *keep_user(void *user) { return user; }

static herr_t free_user(void *user) {
    (void)user;
    return 0;
}

static hid_t open_image(kiln_hdf5 *h) {
    enum { INCREMENT = 64 * 1024 };
    H5FD_file_image_callbacks_t calls = {
        image_malloc, image_memcpy, image_realloc, image_free, keep_user, free_user, h};
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t file = -1;
    if (access < 0)
        return -1;
    if (H5Pset_fapl_core(access, INCREMENT, false) >= 0 &&
        H5Pset_file_image_callbacks(access, &calls) >= 0 &&
        H5Pset_file_image(access, (void *)(uintptr_t)h->bytes.p, h->bytes.n) >= 0)
        file = H5Fopen("model", H5F_ACC_RDONLY, access);
    H5Pclose(access);
    return file;
}

kiln_status kiln_hdf5_open(kiln_arena *a, kiln_str bytes, kiln_hdf5 **out,
                           kiln_err *err) {
    kiln_hdf5 *const h = kiln_new(a, kiln_hdf5);
    h->bytes = bytes;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* its own messages on stderr */
    H5PLset_loading_state(0);
    h->file = open_image(h);
    if (h->file < 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "libhdf5 does not read it; is the file truncated or damaged?");
    kiln_arena_defer(a, close_file, h);
    *out = h;
    return KILN_OK;
}

/* ---- groups ---------------------------------------------------------------------- */

bool kiln_hdf5_has(const kiln_hdf5 *h, const char *path) {
    char head[MAX_PATH_TEXT];
    const size_t n = strlen(path);
    if (n >= sizeof head)
        return false;
    for (size_t i = 1; i <= n; i++) {
        H5L_info_t info;
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(head, path, i);
        head[i] = '\0';
        if (strcmp(head, "/") == 0 || head[i - 1] == '/')
            continue;
        if (H5Lexists(h->file, head, H5P_DEFAULT) <= 0 ||
            H5Lget_info(h->file, head, &info, H5P_DEFAULT) < 0 ||
            info.type != H5L_TYPE_HARD)
            return false;
    }
    return true;
}

/* ---- attributes ------------------------------------------------------------------ */

static kiln_status refuse_attr(const char *path, const char *attr, kiln_err *err) {
    return kiln_fail(err, KILN_ERR_PARSE,
                     "attribute '%s' of '%s' must hold text; is the file damaged?",
                     attr, path);
}

/* n texts of a variable length. */
static bool read_variable(kiln_arena *a, hid_t attr, hid_t type, hid_t space,
                          const char **out, size_t n) {
    char **const raw = kiln_array(a, char *, n);
    const hid_t memory = H5Tcopy(H5T_C_S1);
    bool ok = memory >= 0 && H5Tset_size(memory, H5T_VARIABLE) >= 0 &&
              H5Tset_cset(memory, H5Tget_cset(type)) >= 0 &&
              H5Aread(attr, memory, (void *)raw) >= 0;
    for (size_t i = 0; ok && i < n; i++)
        out[i] = kiln_str_dup(a, raw[i] != NULL ? raw[i] : "");
    if (ok)
        H5Dvlen_reclaim(memory, space, H5P_DEFAULT, (void *)raw);
    if (memory >= 0)
        H5Tclose(memory);
    return ok;
}

static bool read_fixed(kiln_arena *a, hid_t attr, hid_t type, const char **out,
                       size_t n) {
    const size_t size = H5Tget_size(type);
    if (size == 0 || size > MAX_TEXT || n > MAX_TEXT / size)
        return false;
    char *const raw = kiln_array(a, char, n *size);
    if (H5Aread(attr, type, raw) < 0)
        return false;
    for (size_t i = 0; i < n; i++) {
        const char *const at = raw + i * size;
        const char *const end = memchr(at, '\0', size);
        out[i] =
            kiln_str_dupv(a, (kiln_str){at, end != NULL ? (size_t)(end - at) : size});
    }
    return true;
}

/* An empty list is written as one of no numbers. */
static bool read_texts(kiln_arena *a, hid_t attr, const char *const **out, size_t *n) {
    const hid_t type = H5Aget_type(attr), space = H5Aget_space(attr);
    const hssize_t points = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
    bool ok = type >= 0 && points >= 0 && points <= MAX_TEXTS;
    if (ok && points > 0) {
        const char **const list = kiln_array(a, const char *, points);
        ok = H5Tget_class(type) == H5T_STRING &&
             (H5Tis_variable_str(type) > 0
                  ? read_variable(a, attr, type, space, list, (size_t)points)
                  : read_fixed(a, attr, type, list, (size_t)points));
        *out = list;
        *n = (size_t)points;
    }
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return ok;
}

kiln_status kiln_hdf5_texts(const kiln_hdf5 *h, kiln_arena *a, const char *path,
                            const char *attr, const char *const **out, size_t *n,
                            kiln_err *err) {
    *out = NULL;
    *n = 0;
    if (!kiln_hdf5_has(h, path))
        return KILN_OK;
    const hid_t object = H5Oopen(h->file, path, H5P_DEFAULT);
    if (object < 0)
        return refuse_attr(path, attr, err);
    bool ok = true;
    if (H5Aexists(object, attr) > 0) {
        const hid_t id = H5Aopen(object, attr, H5P_DEFAULT);
        ok = id >= 0 && read_texts(a, id, out, n);
        if (id >= 0)
            H5Aclose(id);
    }
    H5Oclose(object);
    return ok ? KILN_OK : refuse_attr(path, attr, err);
}

kiln_status kiln_hdf5_text(const kiln_hdf5 *h, kiln_arena *a, const char *path,
                           const char *attr, kiln_str *out, kiln_err *err) {
    const char *const *list = NULL;
    size_t n = 0;
    KILN_TRY(kiln_hdf5_texts(h, a, path, attr, &list, &n, err));
    *out = n > 0 ? kiln_str_from(list[0]) : (kiln_str){NULL, 0};
    return KILN_OK;
}

/* ---- numbers --------------------------------------------------------------------- */

/* Of a dataset: its shape; false where it has none that kiln holds. */
static bool shape_of(hid_t space, kiln_type *out) {
    hsize_t size[KILN_MAX_RANK];
    int64_t dim[KILN_MAX_RANK];
    const int rank = H5Sget_simple_extent_ndims(space);
    if (rank < 0 || rank > KILN_MAX_RANK ||
        H5Sget_simple_extent_dims(space, size, NULL) < 0)
        return false;
    for (int i = 0; i < rank; i++) {
        if (size[i] > INT64_MAX)
            return false;
        dim[i] = (int64_t)size[i];
    }
    *out = kiln_type_make(KILN_F32, rank, dim);
    return kiln_type_check(out, NULL) == KILN_OK;
}

/* Where the numbers lie in the file as f32, one behind the other; NULL: they do not. */
static const void *view_of(const kiln_hdf5 *h, hid_t set, hid_t type, hid_t made,
                           const kiln_type *t) {
    const size_t bytes = (size_t)kiln_type_bytes(t);
    if (H5Pget_layout(made) != H5D_CONTIGUOUS || H5Tequal(type, H5T_IEEE_F32LE) <= 0)
        return NULL;
    const haddr_t offset = H5Dget_offset(set);
    return offset == HADDR_UNDEF || offset > h->bytes.n || bytes > h->bytes.n - offset
               ? NULL
               : h->bytes.p + offset;
}

static bool is_number(hid_t type) {
    const H5T_class_t c = H5Tget_class(type);
    return c == H5T_FLOAT || c == H5T_INTEGER;
}

/* In this file, and by no more than its own filters. */
static bool is_local(hid_t made) {
    return H5Pget_layout(made) != H5D_VIRTUAL && H5Pget_layout(made) >= 0 &&
           H5Pget_external_count(made) == 0;
}

static kiln_status read_set(const kiln_hdf5 *h, kiln_import_cx *cx, const char *path,
                            hid_t set, kiln_tensor *out) {
    const hid_t type = H5Dget_type(set), space = H5Dget_space(set),
                made = H5Dget_create_plist(set);
    kiln_status st = KILN_OK;
    out->data = NULL;
    if (type < 0 || space < 0 || made < 0 || !is_number(type) || !is_local(made) ||
        !shape_of(space, &out->type)) {
        st = kiln_fail(cx->err, KILN_ERR_PARSE,
                       "dataset '%s' must hold numbers of at most %d axes in the file; "
                       "is it damaged?",
                       path, KILN_MAX_RANK);
    } else {
        out->data = (void *)(uintptr_t)view_of(h, set, type, made, &out->type);
    }
    if (st == KILN_OK && out->data == NULL) {
        st = kiln_import_spend(cx, kiln_type_bytes(&out->type));
        if (st == KILN_OK)
            out->data = kiln_tensor_new(cx->arena, &out->type).data;
        if (st == KILN_OK && H5Dread(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL,
                                     H5P_DEFAULT, out->data) < 0)
            st = kiln_fail(cx->err, KILN_ERR_PARSE,
                           "libhdf5 does not read dataset '%s'; is the file damaged?",
                           path);
    }
    if (made >= 0)
        H5Pclose(made);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return st;
}

kiln_status kiln_hdf5_numbers(const kiln_hdf5 *h, kiln_import_cx *cx, const char *path,
                              kiln_tensor *out) {
    const hid_t set =
        kiln_hdf5_has(h, path) ? H5Dopen2(h->file, path, H5P_DEFAULT) : -1;
    if (set < 0)
        return kiln_fail(cx->err, KILN_ERR_PARSE,
                         "there is no dataset '%s'; was the model saved without its "
                         "weights?",
                         path);
    const kiln_status st = read_set(h, cx, path, set, out);
    H5Dclose(set);
    return st;
}
