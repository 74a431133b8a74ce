/* The archive of TorchScript: entries in one folder, by name; code is deflated. */
#include <string.h>

#include "compiler/frontend/pytorch/script/inflate.h"
#include "compiler/frontend/pytorch/script/script_internal.h"
#include "compiler/frontend/zip.h"

enum {
    MAX_INFLATED = 256 << 20, /* of all code; that of large models has some megabytes */
    MAX_SHOWN = 80
};

/* Behind the folder that all entries lie in. */
static kiln_str inside(kiln_str name) {
    kiln_str rest = name, folder;
    return kiln_str_cut(&rest, '/', &folder) && rest.p != NULL ? rest : name;
}

static kiln_status read_entry(kiln_arena *a, const kiln_zip_entry *e, uint64_t *left,
                              kiln_str *out, kiln_err *err) {
    const char *const name = kiln_str_printable(a, e->name, MAX_SHOWN);
    if (!e->is_stored && !e->is_deflated)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "'%s' in the archive is packed in a way that torch does not; "
                         "save the model again with torch.jit.save",
                         name);
    *out = e->is_stored ? e->bytes : e->packed;
    if (out->p == NULL)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "'%s' in the archive lies outside of it; is the file "
                         "truncated?",
                         name);
    if (e->is_stored)
        return KILN_OK;
    if (e->n_bytes > *left)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "what is packed in the archive has more than %d bytes",
                         MAX_INFLATED);
    *left -= e->n_bytes;
    char *const bytes = kiln_array(a, char, e->n_bytes);
    const kiln_status st = kiln_inflate(*out, bytes, (size_t)e->n_bytes, err);
    if (st != KILN_OK)
        kiln_note(err, "unpacking '%s' of the archive", name);
    *out = (kiln_str){bytes, (size_t)e->n_bytes};
    return st;
}

kiln_status kiln_script_open(kiln_arena *a, kiln_str bytes, kiln_script_archive *out,
                             kiln_err *err) {
    kiln_script_archive z = {.entry = {.n_slots = 0}};
    uint64_t left = MAX_INFLATED, at = 0;
    kiln_zip_entry e;
    while (kiln_zip_next(bytes, &at, &e)) {
        if (kiln_str_ends(e.name, ".debug_pkl"))
            continue;
        kiln_str *const entry = kiln_new(a, kiln_str);
        KILN_TRY(read_entry(a, &e, &left, entry, err));
        kiln_map_set(a, &z.entry, inside(e.name), entry);
    }
    if (z.entry.entries.n == 0)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "it is no archive with a directory at its end; is the file "
                         "truncated?");
    *out = z;
    return KILN_OK;
}
