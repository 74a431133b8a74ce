#include "tests/support/model/keras_model.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/frontend/frontend_internal.h"

enum { MAX_NUMBERS = 256, MAX_AXES = 8, MAX_WEIGHTS = 64 };

char *kiln_test_quoted(kiln_arena *a, const char *text) {
    char *const s = kiln_str_dup(a, text);
    for (char *p = s; *p != '\0'; p++)
        *p = (char)(*p == '\'' ? '"' : *p);
    return s;
}

const char *kiln_test_sequential(kiln_arena *a, const char *shape, const char *layers) {
    return kiln_test_quoted(
        a, kiln_format(a,
                       "{'class_name': 'Sequential', 'config': {'name': 's', 'layers': "
                       "[{'class_name': 'InputLayer', 'config': {'name': 'x', "
                       "'batch_input_shape': [%s]}}, %s]}}",
                       shape, layers));
}

/* ---- HDF5 ------------------------------------------------------------------------ */

static hid_t new_file(void) {
    enum { INCREMENT = 4096 };
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    KILN_ASSERT(H5Pset_fapl_core(access, INCREMENT, false) >= 0, "no file in memory");
    const hid_t file = H5Fcreate("test", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    KILN_ASSERT(file >= 0, "no file in memory");
    H5Pclose(access);
    return file;
}

static kiln_str take_bytes(kiln_arena *a, hid_t file) {
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    const ssize_t n = H5Fget_file_image(file, NULL, 0);
    KILN_ASSERT(n > 0, "an empty file");
    char *const bytes = kiln_array(a, char, n);
    H5Fget_file_image(file, bytes, (size_t)n);
    H5Fclose(file);
    return (kiln_str){bytes, (size_t)n};
}

static void put_text(hid_t at, const char *name, const char *text) {
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text) + 1);
    const hid_t attr = H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attr, type, text);
    H5Aclose(attr);
    H5Sclose(space);
    H5Tclose(type);
}

/* "2,2:1 2 3 4" */
static void put_numbers(kiln_arena *a, hid_t at, const char *name, const char *text) {
    hsize_t dim[MAX_AXES];
    float few[MAX_NUMBERS], *v = few;
    size_t all = 1;
    int rank = 0, n = 0;
    char *p = (char *)(uintptr_t)text;
    for (; *p != ':'; p += *p == ',')
        all *= dim[rank++] = strtoull(p, &p, 10);
    if (p[1] == '*')
        v = kiln_array(a, float, all);
    for (p++; *p != '*' && *p != '\0' && n < MAX_NUMBERS;)
        v[n++] = strtof(p, &p);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    const hid_t space = H5Screate_simple(rank, dim, NULL);
    H5Pset_create_intermediate_group(links, 1);
    const hid_t set =
        H5Dcreate2(at, name, H5T_IEEE_F32LE, space, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(links);
}

/* The list of those of the same layer, with a variable length. */
static void put_names(hid_t group, const kiln_test_weight *w, const char *layer) {
    const char *list[MAX_WEIGHTS];
    hsize_t n = 0;
    for (; w->name != NULL; w++)
        if (strcmp(w->layer, layer) == 0)
            list[n++] = w->name;
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
    H5Tset_size(type, H5T_VARIABLE);
    const hid_t attr =
        H5Acreate2(group, "weight_names", type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attr, type, (const void *)list);
    H5Aclose(attr);
    H5Sclose(space);
    H5Tclose(type);
}

kiln_str kiln_test_keras_h5(kiln_arena *a, const char *model, const char *version,
                            const kiln_test_weight *w) {
    const hid_t file = new_file();
    if (model != NULL)
        put_text(file, "model_config", model);
    put_text(file, "keras_version", version);
    const hid_t root =
        H5Gcreate2(file, "model_weights", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (const kiln_test_weight *i = w; i->name != NULL; i++) {
        const bool is_new = H5Lexists(root, i->layer, H5P_DEFAULT) <= 0;
        const hid_t group =
            is_new ? H5Gcreate2(root, i->layer, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                   : H5Gopen2(root, i->layer, H5P_DEFAULT);
        if (is_new)
            put_names(group, w, i->layer);
        put_numbers(a, group, i->name, i->text);
        H5Gclose(group);
    }
    H5Gclose(root);
    return take_bytes(a, file);
}

kiln_str kiln_test_keras_weights(kiln_arena *a, const kiln_test_weight *w) {
    const hid_t file = new_file();
    for (; w->name != NULL; w++)
        put_numbers(a, file, w->name, w->text);
    return take_bytes(a, file);
}

/* ---- archives -------------------------------------------------------------------- */

static void put_le(kiln_buf *b, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++, v >>= 8) {
        const char byte = (char)(v & 0xff);
        kiln_buf_add(b, &byte, 1);
    }
}

/* Method, time, checksum (nobody looks), sizes, length of the name. */
static void put_sizes(kiln_buf *b, size_t bytes, size_t name) {
    put_le(b, 0, 2); /* stored */
    put_le(b, 0, 4);
    put_le(b, 0, 4);
    put_le(b, bytes, 4);
    put_le(b, bytes, 4);
    put_le(b, name, 2);
    put_le(b, 0, 2);
}

kiln_str kiln_test_zip(kiln_arena *a, const char *const *names, const kiln_str *bytes,
                       size_t n) {
    kiln_buf b, directory;
    kiln_buf_init(&b, a);
    kiln_buf_init(&directory, a);
    for (size_t i = 0; i < n; i++) {
        const size_t at = b.n, n_name = strlen(names[i]);
        kiln_buf_add(&b, "PK\x03\x04\x14\0\0\0", 8);
        put_sizes(&b, bytes[i].n, n_name);
        kiln_buf_add(&b, names[i], n_name);
        kiln_buf_add(&b, bytes[i].p, bytes[i].n);
        kiln_buf_add(&directory, "PK\x01\x02\x14\0\x14\0\0\0", 10);
        put_sizes(&directory, bytes[i].n, n_name);
        put_le(&directory, 0, 10);
        put_le(&directory, at, 4);
        kiln_buf_add(&directory, names[i], n_name);
    }
    const size_t at = b.n;
    kiln_buf_add(&b, directory.p, directory.n);
    kiln_buf_add(&b, "PK\x05\x06\0\0\0\0", 8);
    put_le(&b, n, 2);
    put_le(&b, n, 2);
    put_le(&b, directory.n, 4);
    put_le(&b, at, 4);
    put_le(&b, 0, 2);
    return kiln_buf_str(&b);
}

kiln_status kiln_test_import_keras(kiln_arena *a, kiln_str bytes,
                                   const kiln_import_options *o, kiln_graph **out,
                                   kiln_import_report *report, kiln_err *err) {
    return kiln_frontend_keras.import(a, bytes, "test.h5", NULL, o, out, report, err);
}
