#include "runtime/device/driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* A static program has no linker to open libraries with, or one that brings a second C
 * library in: its own headers tell. */
static int is_static(void) {
    const Elf64_Phdr *header = (const void *)(uintptr_t)getauxval(AT_PHDR);
    const unsigned long n = getauxval(AT_PHNUM);
    for (unsigned long i = 0; header != NULL && i < n; i++)
        if (header[i].p_type == PT_INTERP)
            return 0;
    return header != NULL;
}

typedef void *dlopen_fn(const char *file, int how);

/* Found by its name: a program that mentions it warns when it is linked statically, and
 * this is in every program that runs packages. */
static dlopen_fn *opener(void) {
    void *found = dlsym(RTLD_DEFAULT, "dlopen");
    dlopen_fn *result = NULL;
    memcpy(&result, &found, sizeof found);
    return result;
}

static int find_symbols(const kiln_driver_library *l, void *library, char *functions,
                        char *error) {
    for (size_t i = 0; i < l->n_symbols; i++) {
        void *found = dlsym(library, l->symbol[i].name);
        if (found == NULL && l->symbol[i].is_needed) {
            snprintf(error, KILN_ERROR_TEXT, "%s has no '%s': it is too old; %s",
                     l->file, l->symbol[i].name, l->remedy);
            return -1;
        }
        /* ISO C has no conversion between them. */
        memcpy(functions + l->symbol[i].offset, &found, sizeof found);
    }
    return 0;
}

int kiln_driver_open(const kiln_driver_library *l, void *functions,
                     char error[KILN_ERROR_TEXT]) {
    const char *other = getenv(l->variable),
               *file = other != NULL && other[0] != '\0' ? other : l->file;
    if (is_static()) {
        snprintf(
            error, KILN_ERROR_TEXT,
            "this program is static and cannot open %s: use kiln's shared runtime, "
            "or link it dynamically",
            l->file);
        return -1;
    }
    dlopen_fn *open_file = opener();
    void *library = open_file != NULL ? open_file(file, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        const char *why = dlerror();
        snprintf(error, KILN_ERROR_TEXT, "%s (%.120s)", l->remedy,
                 why != NULL ? why : "there is no dlopen");
        return -1;
    }
    if (find_symbols(l, library, functions, error) == 0)
        return 0;
    dlclose(library);
    return -1;
}
