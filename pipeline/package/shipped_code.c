/* Code of a package's or a network's kernels, as text. */
#include "pipeline/package/package_shipped.h"

#include "compiler/codegen/codegen_gpu_module.h"
#include "pipeline/package/package_internal.h"
#include "runtime/elf.h"

#include <stdint.h>
#include <string.h>

/* The function's bytes: up to the next one, or the end of what is executable. */
static kiln_status code_of(const kiln_shipped *s, const kiln_elf *e, kiln_str lib,
                           const char *symbol, kiln_str *out, kiln_err *err) {
    const int64_t at = kiln_elf_find(e, symbol);
    for (int i = 0; at >= 0 && i < e->n_loads; i++) {
        const kiln_elf_load *l = &e->load[i];
        uint64_t end = l->at + l->file_bytes;
        if (!l->is_executable || (uint64_t)at < l->at || (uint64_t)at >= end ||
            l->offset > lib.n || l->file_bytes > lib.n - l->offset)
            continue;
        for (size_t k = 0; k < s->kernel.n; k++) {
            const int64_t next = kiln_elf_find(e, s->kernel.v[k].is.symbol);
            if (next > at && (uint64_t)next < end)
                end = (uint64_t)next;
        }
        *out = (kiln_str){lib.p + l->offset + ((uint64_t)at - l->at),
                          (size_t)(end - (uint64_t)at)};
        return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_PARSE, "the library has no code of kernel '%s'",
                     symbol);
}

/* An entry of a GPU's text: from the line that names it to the brace that ends it. */
static void cut_entry(kiln_buf *out, kiln_str text, const char *name) {
    const size_t n = strlen(name);
    kiln_str line;
    bool is_inside = false;
    while (kiln_str_cut(&text, '\n', &line)) {
        const char *at = is_inside ? NULL : strstr(line.p, name);
        is_inside = is_inside || (at != NULL && at < line.p + line.n && at[n] == '(');
        if (!is_inside)
            continue;
        kiln_buf_add(out, line.p, line.n);
        kiln_buf_puts(out, "\n");
        if (kiln_str_is(line, "}"))
            return;
    }
}

static kiln_status list_gpu(kiln_arena *a, kiln_str module, const char *symbol,
                            bool *has, kiln_str *out, kiln_err *err) {
    kiln_gpu_module m;
    kiln_buf text;
    KILN_TRY(kiln_gpu_object_open(a, module, &m, err));
    const kiln_gpu_kernel *k = kiln_gpu_module_find(&m, symbol);
    *has = k != NULL;
    kiln_buf_init(&text, a);
    kiln_buf_puts(&text, "");
    for (uint32_t i = 0; k != NULL && i < k->n_launches; i++)
        cut_entry(&text, kiln_str_from(m.code),
                  m.string + m.launch[k->first_launch + i].entry);
    *out = kiln_buf_str(&text);
    return KILN_OK;
}

/* *has: is it in the library of that device? */
static kiln_status list_module(kiln_arena *a, const kiln_shipped *s, size_t device,
                               const char *symbol, bool *has, kiln_str *out,
                               kiln_err *err) {
    char text[KILN_LOAD_TEXT] = "";
    const char *path =
        kiln_path_join(a, s->package.folder, kiln_package_module_of(&s->facts, device));
    kiln_str lib, code;
    kiln_elf e;
    KILN_TRY(kiln_file_map(a, path, 0, &lib, err));
    if (kiln_gpu_is_module(lib))
        return list_gpu(a, lib, symbol, has, out, err);
    const int machine = kiln_arch_of(s->package.package.arch)->elf_machine;
    if (kiln_elf_open(&e, lib.p, lib.n, machine, text) != KILN_LOAD_OK)
        return kiln_fail(err, KILN_ERR_PARSE, "'%s': %s", path, text);
    kiln_status st = KILN_OK;
    *has = kiln_elf_find(&e, symbol) >= 0 || device + 1 >= s->facts.n_devices;
    if (*has)
        st = code_of(s, &e, lib, symbol, &code, err);
    kiln_elf_fini(&e);
    return *has && st == KILN_OK
               ? kiln_code_listing(a, code, &s->facts.profile, out, err)
               : st;
}

static kiln_status list_package(kiln_arena *a, const kiln_shipped *s,
                                const char *symbol, kiln_str *out, kiln_err *err) {
    bool has = false;
    for (size_t i = 0; !has && (i == 0 || i < s->facts.n_devices); i++)
        KILN_TRY(list_module(a, s, i, symbol, &has, out, err));
    return has ? KILN_OK
               : kiln_fail(err, KILN_ERR_PARSE, "no module has kernel '%s'", symbol);
}

kiln_status kiln_shipped_assembly(kiln_arena *a, const kiln_shipped *s, size_t step,
                                  kiln_str *out, kiln_err *err) {
    KILN_ASSERT(step < s->step.n, "step %zu of %zu", step, s->step.n);
    const int k = s->step.v[step].kernel;
    if (k < 0)
        return kiln_fail(err, KILN_ERR_ARG, "step '%s' is a copy: it has no kernel",
                         s->step.v[step].name);
    if (s->package.folder != NULL)
        return list_package(a, s, s->kernel.v[k].is.symbol, out, err);
    const kiln_network_kernel *made = &s->network->kernel.v[k];
    return kiln_object_listing(a, made->object.bytes, made->profile, out, err);
}
