/* Memory for code: written first, then made read-only and executable. */
#include "runtime/arch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct kiln_code {
    kiln_elf elf;        /* its file is our copy */
    unsigned char *file; /* owned */
    unsigned char *image;
    size_t image_bytes;
    char text[KILN_LOAD_TEXT];
};

/* Segments that would share a page of this system cannot be protected apart. */
static int have_own_pages(const kiln_elf *e) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t end = 0;
    for (int i = 0; i < e->n_loads; i++) {
        if (e->load[i].at / page * page < end)
            return 0;
        end = (e->load[i].at + e->load[i].bytes + page - 1) / page * page;
    }
    return 1;
}

static int protect(const kiln_code *c) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < c->elf.n_loads; i++) {
        const kiln_elf_load *l = &c->elf.load[i];
        const uint64_t begin = l->at / page * page;
        const int how = l->is_executable ? PROT_READ | PROT_EXEC : PROT_READ;
        if (!l->is_writable &&
            mprotect(c->image + begin, l->at + l->bytes - begin, how) != 0)
            return -1;
    }
    return 0;
}

static kiln_load_status load(kiln_code *c, size_t bytes) {
    const kiln_runtime_arch *here = kiln_runtime_arch_here();
    kiln_load_status st = kiln_elf_open(&c->elf, c->file, bytes,
                                        here != NULL ? here->machine : 0, c->text);
    if (st != KILN_LOAD_OK)
        return st;
    c->image_bytes = c->elf.image_bytes;
    if (c->image_bytes == 0) {
        snprintf(c->text, KILN_LOAD_TEXT, "the object holds no code");
        return KILN_LOAD_FORMAT;
    }
    if (!have_own_pages(&c->elf)) {
        snprintf(c->text, KILN_LOAD_TEXT,
                 "two segments share a page of this system; link with a larger "
                 "max-page-size");
        return KILN_LOAD_UNSUPPORTED;
    }
    void *p = mmap(NULL, c->image_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        snprintf(c->text, KILN_LOAD_TEXT, "no memory for code");
        return KILN_LOAD_MEMORY;
    }
    c->image = p;
    st = kiln_elf_link(&c->elf, c->image);
    if (st != KILN_LOAD_OK)
        return st;
    /* Nothing where data and instructions are coherent (x86-64). */
    __builtin___clear_cache((char *)c->image, (char *)c->image + c->image_bytes);
    if (protect(c) != 0) {
        snprintf(c->text, KILN_LOAD_TEXT, "the system does not let code be executed");
        return KILN_LOAD_MEMORY;
    }
    return KILN_LOAD_OK;
}

kiln_load_status kiln_code_open(const void *object, size_t bytes, kiln_code **out,
                                char text[KILN_LOAD_TEXT]) {
    if (bytes > KILN_LOAD_MAX_BYTES) {
        snprintf(text, KILN_LOAD_TEXT, "the object is larger than 256 MiB");
        return KILN_LOAD_FORMAT;
    }
    kiln_code *c = calloc(1, sizeof *c);
    if (c != NULL)
        c->file = malloc(bytes > 0 ? bytes : 1);
    if (c == NULL || c->file == NULL) {
        snprintf(text, KILN_LOAD_TEXT, "out of memory");
        kiln_code_close(c);
        return KILN_LOAD_MEMORY;
    }
    if (bytes > 0)
        memcpy(c->file, object, bytes);
    const kiln_load_status st = load(c, bytes);
    if (st != KILN_LOAD_OK) {
        memcpy(text, c->text, KILN_LOAD_TEXT);
        kiln_code_close(c);
        return st;
    }
    *out = c;
    return KILN_LOAD_OK;
}

kiln_kernel_fn *kiln_code_kernel(const kiln_code *c, const char *name) {
    const int64_t at = kiln_elf_find(&c->elf, name);
    kiln_kernel_fn *fn = NULL;
    if (at < 0)
        return NULL;
    /* ISO C has no cast from data to code; POSIX says that the bytes are the same. */
    const void *p = c->image + at;
    memcpy(&fn, &p, sizeof fn);
    return fn;
}

void kiln_code_close(kiln_code *c) {
    if (c == NULL)
        return;
    if (c->image != NULL)
        munmap(c->image, c->image_bytes);
    kiln_elf_fini(&c->elf);
    free(c->file);
    free(c);
}
