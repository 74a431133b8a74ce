#include "runtime/device/driver.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* A static program has no linker to open libraries with, or one that brings a second C
 * library in. What is linked statically by kiln itself leaves dlopen out
 * (KILN_STATIC_PROGRAM); of others the program's own headers tell. */
#if defined(KILN_STATIC_PROGRAM)
static int is_static(void) { return 1; }
static void *open_file(const char *file) {
    (void)file;
    return NULL;
}
static void *symbol_of(void *library, const char *name) {
    (void)library;
    (void)name;
    return NULL;
}
static void close_file(void *library) { (void)library; }
static const char *reason(void) { return ""; }
#else
static int is_static(void) {
    const Elf64_Phdr *header = (const void *)(uintptr_t)getauxval(AT_PHDR);
    const unsigned long n = getauxval(AT_PHNUM);
    for (unsigned long i = 0; header != NULL && i < n; i++)
        if (header[i].p_type == PT_INTERP)
            return 0;
    return header != NULL;
}
static void *open_file(const char *file) { return dlopen(file, RTLD_NOW | RTLD_LOCAL); }
static void *symbol_of(void *library, const char *name) { return dlsym(library, name); }
static void close_file(void *library) { dlclose(library); }
static const char *reason(void) { return dlerror(); }
#endif

static int find_symbols(const kiln_driver_library *l, void *library, char *functions,
                        char *error) {
    for (size_t i = 0; i < l->n_symbols; i++) {
        void *found = symbol_of(library, l->symbol[i].name);
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
    void *library = open_file(file);
    if (library == NULL) {
        snprintf(error, KILN_ERROR_TEXT, "%s (%.120s)", l->remedy, reason());
        return -1;
    }
    if (find_symbols(l, library, functions, error) == 0)
        return 0;
    close_file(library);
    return -1;
}
