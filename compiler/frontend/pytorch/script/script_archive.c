/* TorchScript's archive: entries by name, code by the names of functions and classes. */
#include "compiler/frontend/pytorch/script/script_internal.h"

#include <string.h>

static kiln_status missing(kiln_script_cx *cx, kiln_str name) {
    return kiln_script_fail(cx, KILN_ERR_PARSE,
                            "the archive has no code of '%s'; is it damaged?",
                            kiln_import_show(&cx->common, name));
}

/* "__torch__.torch.nn.Net" -> "code/__torch__/torch/nn.py"; false: it has no dots. */
static const char *entry_of(kiln_script_cx *cx, kiln_str name) {
    while (name.n > 0 && name.p[name.n - 1] != '.')
        name.n--;
    if (name.n == 0)
        return NULL;
    char *const path =
        kiln_format(&cx->common.scratch, "code/%.*s.py", (int)(name.n - 1), name.p);
    for (char *p = path + strlen("code/"); p[0] != '\0' && strcmp(p, ".py") != 0; p++)
        if (*p == '.')
            *p = '/';
    return path;
}

/* Read and parsed once. */
static kiln_status open_code(kiln_script_cx *cx, kiln_str name,
                             const kiln_script_file **out) {
    const char *const path = entry_of(cx, name);
    if (path == NULL)
        return missing(cx, name);
    *out = kiln_map_get(cx->files, kiln_str_from(path));
    if (*out != NULL)
        return KILN_OK;
    const kiln_str *const code = kiln_map_get(&cx->archive->entry, kiln_str_from(path));
    if (code == NULL)
        return missing(cx, name);
    kiln_script_file *const file = kiln_new(cx->kept, kiln_script_file);
    KILN_TRY(kiln_script_parse(cx->kept, *code, kiln_str_dup(cx->kept, path), file,
                               cx->common.err));
    kiln_map_set(cx->kept, cx->files, kiln_str_from(path), file);
    *out = file;
    return KILN_OK;
}

kiln_status kiln_script_find(kiln_script_cx *cx, kiln_str name,
                             const kiln_script_function **function,
                             const kiln_script_class **type) {
    const kiln_script_file *file = NULL;
    KILN_TRY(open_code(cx, name, &file));
    kiln_str last = name;
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '.')
            last = (kiln_str){name.p + i + 1, name.n - i - 1};
    for (size_t i = 0; i < file->function.n; i++)
        if (kiln_str_eq(file->function.v[i]->name, last)) {
            *function = file->function.v[i];
            return KILN_OK;
        }
    for (size_t i = 0; i < file->class_.n; i++)
        if (kiln_str_eq(file->class_.v[i]->name, last)) {
            *type = file->class_.v[i];
            return KILN_OK;
        }
    return missing(cx, name);
}

kiln_status kiln_script_find_class(kiln_script_cx *cx, kiln_str name,
                                   const kiln_script_class **out) {
    const kiln_script_function *fn = NULL;
    const kiln_script_class *type = NULL;
    KILN_TRY(kiln_script_find(cx, name, &fn, &type));
    if (type == NULL)
        return missing(cx, name);
    *out = type;
    return KILN_OK;
}

const kiln_script_function *kiln_script_method(const kiln_script_class *c,
                                               kiln_str name) {
    for (size_t i = 0; i < c->function.n; i++)
        if (kiln_str_eq(c->function.v[i]->name, name))
            return c->function.v[i];
    return NULL;
}
