/* An MXNet model is two files of one prefix: PREFIX-symbol.json and PREFIX-0012.params,
 * the number being the epoch it was saved at. The caller names either. */
#include "compiler/frontend/mxnet/mxnet_internal.h"

#include <string.h>

static const char symbol_end[] = "-symbol.json", params_end[] = ".params";

bool kiln_mx_is_symbol(kiln_str bytes) {
    const kiln_str text = kiln_str_trim(bytes);
    return text.n > 0 && text.p[0] == '{' && kiln_import_holds(text, "\"arg_nodes\"") &&
           kiln_import_holds(text, "\"heads\"") && kiln_import_holds(text, "\"nodes\"");
}

bool kiln_mx_is_params(kiln_str bytes) {
    static const char magic[] = "\x12\x01\0\0\0\0\0\0"; /* kMXAPINDArrayListMagic */
    return bytes.n >= 8 && memcmp(bytes.p, magic, 8) == 0;
}

static kiln_str without(kiln_str s, const char *end) {
    return kiln_str_ends(s, end) ? (kiln_str){s.p, s.n - strlen(end)} : s;
}

/* "-0012" */
static bool is_epoch(kiln_str s) {
    bool ok = s.n == 5 && s.p[0] == '-';
    for (size_t i = 1; ok && i < s.n; i++)
        ok = s.p[i] >= '0' && s.p[i] <= '9';
    return ok;
}

static kiln_str prefix_of_params(kiln_str name) {
    name = without(name, params_end);
    const size_t n = name.n >= 5 ? name.n - 5 : 0;
    return is_epoch((kiln_str){name.p + n, name.n - n}) ? (kiln_str){name.p, n} : name;
}

/* The one file of parameters with the symbol's prefix. */
static kiln_status find_params(kiln_arena *a, const char *path, const char **out,
                               kiln_err *err) {
    const kiln_str name = kiln_str_from(kiln_path_base(path));
    const kiln_str prefix = without(without(name, symbol_end), ".json");
    const char *const dir = kiln_path_dir(a, path);
    char **names;
    size_t n, n_found = 0;
    KILN_TRY(kiln_dir_list(a, dir, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        const kiln_str s = kiln_str_from(names[i]);
        if (!kiln_str_ends(s, params_end) || !kiln_str_eq(prefix_of_params(s), prefix))
            continue;
        *out = names[i];
        n_found++;
    }
    if (n_found == 1)
        return KILN_OK;
    if (n_found > 1)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "'%s' is an MXNet symbol with %zu files of parameters beside it, "
            "up to '%s'; name the one to take instead of the symbol",
            path, n_found, *out);
    return kiln_fail(
        err, KILN_ERR_MISSING,
        "'%s' is an MXNet symbol; its parameters, '%.*s-0000.params' or of "
        "another epoch, must lie beside it and do not: put the .params "
        "there under this name",
        path, KILN_STR_ARG(prefix));
}

static kiln_status find_symbol(kiln_arena *a, const char *path, const char **out,
                               kiln_err *err) {
    const kiln_str prefix = prefix_of_params(kiln_str_from(kiln_path_base(path)));
    const char *const dir = kiln_path_dir(a, path);
    *out = kiln_format(a, "%.*s%s", KILN_STR_ARG(prefix), symbol_end);
    const char *const plain = kiln_format(a, "%.*s.json", KILN_STR_ARG(prefix));
    if (kiln_file_exists(kiln_path_join(a, dir, *out)))
        return KILN_OK;
    if (kiln_file_exists(kiln_path_join(a, dir, plain))) {
        *out = plain;
        return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_MISSING,
                     "'%s' is a file of MXNet parameters; the symbol, '%s', must lie "
                     "beside it and does not: put the symbol's JSON there under this "
                     "name",
                     path, *out);
}

kiln_status kiln_mx_open(kiln_arena *a, kiln_str bytes, const char *path,
                         kiln_mx_files *out, kiln_err *err) {
    const bool is_params = kiln_mx_is_params(bytes);
    const char *other = NULL;
    kiln_str more;
    KILN_TRY(is_params ? find_symbol(a, path, &other, err)
                       : find_params(a, path, &other, err));
    const char *const beside = kiln_path_join(a, kiln_path_dir(a, path), other);
    KILN_TRY(kiln_file_map(a, beside, 0, &more, err));
    *out = (kiln_mx_files){
        .symbol = is_params ? more : bytes,
        .params = is_params ? bytes : more,
        .symbol_name = is_params ? beside : path,
        .params_name = is_params ? path : beside,
        .other = other,
    };
    return KILN_OK;
}
