/* The archive of an exported program: entries by name, JSON in it.
 * Source: torch/export/pt2_archive/constants.py (2.8 on), torch/_export/serde (before).
 */
#include <string.h>

#include "compiler/frontend/pytorch/pt2/pt2_internal.h"
#include "compiler/frontend/zip.h"

enum { MAX_ENTRIES = 1000000 };

/* The length of the folder that all entries lie in, with its slash. */
static size_t folder_of(kiln_str zip) {
    kiln_zip_entry e;
    uint64_t at = 0;
    kiln_str folder = {NULL, 0};
    while (kiln_zip_next(zip, &at, &e)) {
        if (folder.p == NULL) {
            const char *const slash =
                e.name.n > 0 ? memchr(e.name.p, '/', e.name.n) : NULL;
            if (slash == NULL)
                return 0;
            folder = (kiln_str){e.name.p, (size_t)(slash + 1 - e.name.p)};
        }
        if (e.name.n < folder.n || memcmp(e.name.p, folder.p, folder.n) != 0)
            return 0;
    }
    return folder.n;
}

static kiln_status list_entries(kiln_arena *a, kiln_str zip, kiln_map *out,
                                kiln_err *err) {
    kiln_zip_entry e;
    uint64_t at = 0;
    const size_t skip = folder_of(zip);
    while (kiln_zip_next(zip, &at, &e)) {
        const kiln_str name = {e.name.p + skip, e.name.n - skip};
        if (out->entries.n == MAX_ENTRIES)
            return kiln_fail(err, KILN_ERR_LIMIT,
                             "the archive has more than %d entries", MAX_ENTRIES);
        if (!e.is_stored || e.bytes.p == NULL)
            return kiln_fail(err, e.is_stored ? KILN_ERR_PARSE : KILN_ERR_UNSUPPORTED,
                             "'%s' in the archive %s", kiln_str_printable(a, name, 100),
                             e.is_stored ? "lies outside of it; is the file truncated?"
                                         : "is compressed; save the model again with "
                                           "torch.export.save, which stores it");
        kiln_str *const bytes = kiln_new(a, kiln_str);
        *bytes = e.bytes;
        kiln_map_set(a, out, name, bytes);
    }
    return KILN_OK;
}

bool kiln_pt2_entry(const kiln_pt2_file *f, const char *name, kiln_str *out) {
    const kiln_str *const bytes = kiln_map_get(&f->entry, kiln_str_from(name));
    if (bytes != NULL)
        *out = *bytes;
    return bytes != NULL;
}

/* ---- JSON ------------------------------------------------------------------------ */

/* Before 2.4 Python's writer left numbers in the text that JSON has not. Each becomes a
 * text, as later versions write it. */
static kiln_str quoted(kiln_arena *a, kiln_str text) {
    static const char *const words[] = {"-Infinity", "Infinity", "NaN"};
    bool in_text = false;
    kiln_buf b;
    if (!kiln_import_holds(text, "Infinity") && !kiln_import_holds(text, "NaN"))
        return text;
    kiln_buf_init(&b, a);
    for (size_t i = 0; i < text.n;) {
        const char *word = NULL;
        for (size_t w = 0; !in_text && word == NULL && w < 3; w++)
            if (kiln_str_starts((kiln_str){text.p + i, text.n - i}, words[w]))
                word = words[w];
        if (word != NULL) {
            kiln_buf_printf(&b, "\"%s\"", word);
            i += strlen(word);
            continue;
        }
        const size_t n = in_text && text.p[i] == '\\' && i + 1 < text.n ? 2 : 1;
        in_text = text.p[i] == '"' ? !in_text : in_text;
        kiln_buf_add(&b, text.p + i, n);
        i += n;
    }
    return kiln_buf_str(&b);
}

static kiln_status read_json(kiln_arena *a, const kiln_pt2_file *f, const char *name,
                             const kiln_json **out, kiln_err *err) {
    kiln_str text;
    *out = NULL;
    if (!kiln_pt2_entry(f, name, &text))
        return KILN_OK;
    if (text.n > KILN_JSON_MAX_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT, "'%s' may have %d bytes", name,
                         (int)KILN_JSON_MAX_BYTES);
    return kiln_json_parse(a, quoted(a, text), name, out, err);
}

kiln_status kiln_pt2_open(kiln_arena *a, kiln_str bytes, kiln_pt2_file *out,
                          kiln_err *err) {
    *out = (kiln_pt2_file){.version = ""};
    KILN_TRY(list_entries(a, bytes, &out->entry, err));
    KILN_TRY(read_json(a, out, "models/model.json", &out->program, err));
    if (out->program == NULL)
        KILN_TRY(
            read_json(a, out, "serialized_exported_program.json", &out->program, err));
    if (out->program == NULL)
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "the archive has no program ('models/model.json'): packages of "
            "compiled code and archives of several models are not read");
    const kiln_json *const module = kiln_json_get(out->program, "graph_module");
    out->graph = kiln_json_get(module, "graph");
    out->signature = kiln_json_get(module, "signature");
    if (!kiln_json_is_array(kiln_json_get(out->graph, "nodes")) ||
        !kiln_json_is_array(kiln_json_get(out->signature, "input_specs")))
        return kiln_fail(err, KILN_ERR_PARSE,
                         "the program must have 'graph_module' with 'graph' and "
                         "'signature'; is it of another version than 2.2 to 2.15?");
    out->version =
        kiln_str_printable(a,
                           kiln_str_from(kiln_json_string(
                               kiln_json_get(out->program, "torch_version"), "")),
                           40);
    KILN_TRY(read_json(a, out, "data/weights/model_weights_config.json", &out->weights,
                       err));
    return read_json(a, out, "data/constants/model_constants_config.json",
                     &out->constants, err);
}
