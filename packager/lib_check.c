/* lib.so, and the libraries of further devices: what the runtime's loader will take, for
 * the plan's machine, with the plan's kernels and nothing else. */
#include "packager/packager_internal.h"
#include "runtime/elf.h"
#include "runtime/gpu_module.h"

#include <inttypes.h>
#include <string.h>

/* Global functions by name. */
static void list_functions(kiln_arena *a, const kiln_elf *e, kiln_map *out) {
    static char is_there;
    for (uint64_t i = 1; i < e->n_symbols; i++) {
        const kiln_elf_symbol s = kiln_elf_symbol_at(e, i);
        const char *name = (const char *)e->file + e->strings + s.name;
        const bool is_global_function = s.binding == 1 && s.type == 2;
        if (is_global_function)
            kiln_map_set(a, out, kiln_str_from(name), &is_there);
    }
}

typedef struct library {
    kiln_arena *arena;
    const kiln_plan *plan;
    size_t module;
    const char *name; /* of the entry */
} library;

static kiln_status check_kernels(const library *l, const kiln_elf *e, kiln_err *err) {
    kiln_map functions = {.slot = NULL};
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->plan->header->n_kernels; i++)
        n += l->plan->kernel[i].module == l->module;
    if (e->n_symbols > (uint64_t)n + 1)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s has %" PRIu64 " symbols, " KILN_ENTRY_PLAN " %" PRIu32
                         " kernels",
                         l->name, e->n_symbols - 1, n);
    list_functions(l->arena, e, &functions);
    for (uint32_t i = 0; i < l->plan->header->n_kernels; i++) {
        const char *name = kiln_plan_string(l->plan, l->plan->kernel[i].symbol);
        if (l->plan->kernel[i].module == l->module &&
            !kiln_map_has(&functions, kiln_str_from(name)))
            return kiln_fail(err, KILN_ERR_PARSE, "%s: has no kernel '%s'", l->name,
                             kiln_str_printable(l->arena, kiln_str_from(name), 64));
    }
    return KILN_OK;
}

/* Relocations are tried on memory that nobody runs. */
static kiln_status check_links(const library *l, const kiln_elf *e, const char *text,
                               kiln_err *err) {
    unsigned char *image = kiln_arena_alloc(l->arena, (size_t)e->image_bytes);
    if (kiln_elf_link(e, image) != KILN_LOAD_OK)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: %s", l->name, text);
    return KILN_OK;
}

/* A GPU's module. Its entries' code is a text: only its driver can say whether it is
 * right. */
static kiln_status check_gpu(const library *l, kiln_str bytes, kiln_err *err) {
    char text[KILN_GPU_ERROR] = "";
    kiln_gpu_module m;
    uint32_t n = 0;
    if (kiln_gpu_module_check(bytes.p, bytes.n, &m, text) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: %s", l->name, text);
    for (uint32_t i = 0; i < l->plan->header->n_kernels; i++) {
        const kiln_plan_kernel *k = &l->plan->kernel[i];
        if (k->module != l->module)
            continue;
        const char *name = kiln_plan_string(l->plan, k->symbol);
        const kiln_gpu_kernel *is = kiln_gpu_module_find(&m, name);
        n++;
        if (is == NULL || is->n_operands != k->n_operands ||
            is->workspace_bytes > k->workspace_bytes)
            return kiln_fail(err, KILN_ERR_PARSE,
                             "%s: has no kernel '%s' of %" PRIu32
                             " operands and at most %" PRIu64 " bytes of workspace",
                             l->name,
                             kiln_str_printable(l->arena, kiln_str_from(name), 64),
                             k->n_operands, k->workspace_bytes);
    }
    if (n != m.header->n_kernels)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s has %" PRIu32 " kernels, " KILN_ENTRY_PLAN " %" PRIu32,
                         l->name, m.header->n_kernels, n);
    return KILN_OK;
}

kiln_status kiln_package_check_lib(kiln_arena *a, kiln_str lib, const kiln_plan *plan,
                                   size_t module, kiln_err *err) {
    char text[KILN_LOAD_TEXT] = "";
    const bool is_gpu = module > 0 && kiln_package_is_gpu_module(lib);
    const library l = {a, plan, module, kiln_package_module_name(a, module, is_gpu)};
    kiln_elf e;
    if (is_gpu)
        return check_gpu(&l, lib, err);
    const int machine =
        lib.n >= 20 ? (unsigned char)lib.p[18] | (unsigned char)lib.p[19] << 8 : 0;
    if (kiln_str_starts(lib, "\177ELF") && machine != (int)plan->header->arch)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "%s is for ELF machine %d, " KILN_ENTRY_PLAN " for %" PRIu32,
                         l.name, machine, plan->header->arch);
    if (kiln_elf_open(&e, lib.p, lib.n, (int)plan->header->arch, text) != KILN_LOAD_OK)
        return kiln_fail(err, KILN_ERR_PARSE, "%s: %s", l.name, text);
    kiln_status st = KILN_OK;
    if (!e.is_shared)
        st = kiln_fail(err, KILN_ERR_PARSE, "%s: is no shared library", l.name);
    if (st == KILN_OK)
        st = check_kernels(&l, &e, err);
    if (st == KILN_OK)
        st = check_links(&l, &e, text, err);
    kiln_elf_fini(&e);
    return st;
}
