/* A package's folder: plan.bin is read, params.safetensors mapped, modules are handed to
 * their devices: lib.so is loaded by the runtime's own loader, which a statically linked
 * program has too. The same of files in memory. */
#include "runtime/model_internal.h"
#include "runtime/pages.h"
#include "runtime/variants.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, MAX_PLAN_BYTES = 64 << 20 };

static int path_of(char out[PATH_BYTES], const char *folder, const char *file,
                   char *error) {
    const int n = snprintf(out, PATH_BYTES, "%s/%s", folder, file);
    if (n > 0 && n < PATH_BYTES)
        return 0;
    snprintf(error, KILN_ERROR_TEXT, "the package's path is too long");
    return -1;
}

/* A file's descriptor and size; -1 with the reason. */
static int open_file(const char *path, size_t *bytes, char *error) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        snprintf(error, KILN_ERROR_TEXT, "'%.120s': %s", path,
                 fd < 0 ? strerror(errno) : "is no file");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    *bytes = (size_t)st.st_size;
    return fd;
}

/* The whole of a file that has bytes, and its path; NULL with the reason. */
static void *map_file(char path[PATH_BYTES], const char *folder, const char *file,
                      size_t *bytes, char *error) {
    if (path_of(path, folder, file, error) != 0)
        return NULL;
    const int fd = open_file(path, bytes, error);
    if (fd < 0)
        return NULL;
    void *map =
        *bytes > 0 ? mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (map != MAP_FAILED)
        return map;
    snprintf(error, KILN_ERROR_TEXT, "'%.120s': could not be mapped", path);
    return NULL;
}

static int read_plan(kiln_model *m, const char *folder, size_t *bytes, char *error) {
    char path[PATH_BYTES];
    if (path_of(path, folder, "plan.bin", error) != 0)
        return -1;
    const int fd = open_file(path, bytes, error);
    if (fd < 0)
        return -1;
    size_t got = 0;
    if (*bytes <= MAX_PLAN_BYTES)
        m->plan_file = kiln_model_alloc(m, *bytes);
    while (m->plan_file != NULL && got < *bytes) {
        const ssize_t n = read(fd, (char *)m->plan_file + got, *bytes - got);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    close(fd);
    if (m->plan_file != NULL && got == *bytes)
        return 0;
    snprintf(error, KILN_ERROR_TEXT, "'%.120s': %s", path,
             m->plan_file != NULL ? "could not be read whole"
                                  : "is too large, or there is no memory for it");
    return -1;
}

/* safetensors: a length, so many bytes of JSON, then the data, which kiln aligns. */
static int cut_params(const void *file, size_t bytes, kiln_model_parts *parts) {
    uint64_t header = 0;
    if (file == NULL || bytes < sizeof header)
        return -1;
    memcpy(&header, file, sizeof header);
    if (header > bytes - sizeof header)
        return -1;
    parts->params = (const char *)file + sizeof header + header;
    parts->param_bytes = bytes - sizeof header - (size_t)header;
    return 0;
}

static int map_params(kiln_model *m, const char *folder, kiln_model_parts *parts,
                      char *error) {
    char path[PATH_BYTES];
    size_t bytes = 0;
    void *map = map_file(path, folder, "params.safetensors", &bytes, error);
    if (map == NULL)
        return -1;
    kiln_pages_advise(map, bytes);
    m->param_map = map;
    m->param_map_bytes = bytes;
    if (cut_params(map, bytes, parts) == 0)
        return 0;
    snprintf(error, KILN_ERROR_TEXT, "'%.120s': its header does not fit", path);
    return -1;
}

static int map_module(void *user, const char *file, kiln_device_image *out,
                      char where[KILN_ERROR_TEXT], char error[KILN_ERROR_TEXT]) {
    char path[PATH_BYTES];
    size_t bytes = 0;
    void *map = map_file(path, user, file, &bytes, error);
    if (map == NULL)
        return -1;
    *out = (kiln_device_image){.bytes = map, .n = bytes};
    snprintf(where, KILN_ERROR_TEXT, "'%.90s'", path);
    return 0;
}

static void unmap_module(kiln_device_image *image) {
    munmap((void *)(uintptr_t)image->bytes, image->n);
}

/* The package in the folder, with its parameters or those that are mapped. */
static int read_package(kiln_model *m, const char *folder, kiln_model_parts parts,
                        const kiln_model_options *o, char *error) {
    const kiln_model_source source = {map_module, unmap_module,
                                      (void *)(uintptr_t)folder};
    if (read_plan(m, folder, &parts.plan_bytes, error) != 0 ||
        (parts.params == NULL && map_params(m, folder, &parts, error) != 0))
        return -1;
    parts.plan = m->plan_file;
    return kiln_model_assemble(m, &parts, &source, o, error);
}

/* ---- several packages in one ------------------------------------------------------ */

/* 0, or -1 with the reason. *has: is there such a list? */
static int read_list(const char *folder, kiln_variants *out, int *has, char *error) {
    char path[PATH_BYTES], text[KILN_VARIANTS_BYTES];
    size_t got = 0;
    *has = 0;
    if (path_of(path, folder, "variants", error) != 0)
        return -1;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    *has = 1;
    while (fd >= 0 && got < sizeof text) {
        const ssize_t n = read(fd, text + got, sizeof text - got);
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    if (got > 0 && got < sizeof text)
        return kiln_variants_parse(text, got, out, error);
    snprintf(error, KILN_ERROR_TEXT, "'%.120s': could not be read whole", path);
    return -1;
}

static int read_variant(kiln_model *m, const char *folder, const kiln_variant_row *row,
                        const kiln_model_parts *parts, const kiln_model_options *o,
                        char *error) {
    char path[PATH_BYTES];
    return path_of(path, folder, row->folder, error) == 0
               ? read_package(m, path, *parts, o, error)
               : -1;
}

static int read_siblings(kiln_model *m, const char *folder, const kiln_variant_row *row,
                         int n, const kiln_model_parts *parts,
                         const kiln_model_options *o, char *error) {
    m->sibling = kiln_model_alloc(m, (size_t)n * sizeof(kiln_model *));
    if (m->sibling == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "no memory for %d variants", n);
        return -1;
    }
    for (int i = 0; i < n; i++) {
        kiln_model *other = kiln_model_new(&m->allocator, error);
        if (other == NULL)
            return -1;
        m->sibling[m->n_siblings++] = other;
        if (read_variant(other, folder, &row[i], parts, o, error) != 0)
            return -1;
        if (!kiln_model_is_like(m, other)) {
            snprintf(error, KILN_ERROR_TEXT,
                     "variant '%s' has other inputs and outputs than '%s'",
                     row[i].folder, row[-1 - i].folder);
            return -1;
        }
    }
    return 0;
}

/* Those that this machine runs best. */
static int read_variants(kiln_model *m, const char *folder, const kiln_variants *v,
                         const kiln_model_options *o, char *error) {
    kiln_model_parts parts = {.plan = NULL};
    const kiln_variants_machine here = kiln_variants_here();
    const int first = kiln_variants_choose(v, &here, error);
    int n = 0;
    if (first < 0 || map_params(m, folder, &parts, error) != 0)
        return -1;
    const kiln_variant_row *row = &v->row[first];
    while (first + 1 + n < v->n && row[1 + n].group == row->group)
        n++;
    if (read_variant(m, folder, row, &parts, o, error) != 0)
        return -1;
    return n == 0 ? 0 : read_siblings(m, folder, row + 1, n, &parts, o, error);
}

int kiln_model_read_files(kiln_model *m, const char *folder,
                          const kiln_model_options *o, char error[KILN_ERROR_TEXT]) {
    const kiln_model_parts parts = {.plan = NULL};
    kiln_variants variants;
    int has = 0;
    if (read_list(folder, &variants, &has, error) != 0)
        return -1;
    return has ? read_variants(m, folder, &variants, o, error)
               : read_package(m, folder, parts, o, error);
}

/* The plan is copied to where its tables are aligned. */
static int copy_plan(kiln_model *m, const kiln_model_files *f, char *error) {
    void *copy = f->plan != NULL && f->plan_bytes <= MAX_PLAN_BYTES
                     ? kiln_model_alloc(m, f->plan_bytes)
                     : NULL;
    if (copy == NULL) {
        snprintf(error, KILN_ERROR_TEXT,
                 "the plan in memory is none, is too large, or there is no memory for "
                 "it");
        return -1;
    }
    memcpy(copy, f->plan, f->plan_bytes);
    m->plan_file = copy;
    return 0;
}

typedef struct files {
    const kiln_model_files *files;
    const kiln_model_options *options;
} files;

static int find_module(void *user, const char *file, kiln_device_image *out,
                       char where[KILN_ERROR_TEXT], char error[KILN_ERROR_TEXT]) {
    const files *f = user;
    const kiln_model_module *module = kiln_model_module_of(f->options, file);
    const int is_lib = module == NULL && strcmp(file, "lib.so") == 0;
    *out = (kiln_device_image){.bytes = is_lib ? f->files->lib : NULL,
                               .n = is_lib ? f->files->lib_bytes : 0};
    if (module != NULL)
        *out = (kiln_device_image){.bytes = module->bytes, .n = module->n};
    snprintf(where, KILN_ERROR_TEXT, is_lib ? "the library in memory" : "module '%s'",
             file);
    if (out->bytes != NULL)
        return 0;
    snprintf(error, KILN_ERROR_TEXT, "%s: there is none", where);
    return -1;
}

int kiln_model_read_memory(kiln_model *m, const kiln_model_files *f,
                           const kiln_model_options *o, char error[KILN_ERROR_TEXT]) {
    kiln_model_parts parts = {.plan_bytes = f->plan_bytes};
    files all = {f, o};
    const kiln_model_source source = {.find = find_module, .user = &all};
    if (copy_plan(m, f, error) != 0)
        return -1;
    if (cut_params(f->params, f->param_bytes, &parts) != 0) {
        snprintf(error, KILN_ERROR_TEXT,
                 "the parameters in memory: their header does not fit");
        return -1;
    }
    parts.plan = m->plan_file;
    return kiln_model_assemble(m, &parts, &source, o, error);
}

void kiln_model_release_files(kiln_model *m) {
    if (m->param_map != NULL)
        munmap(m->param_map, m->param_map_bytes);
    kiln_model_release(m, m->plan_file);
}
