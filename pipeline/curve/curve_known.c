/* What a user keeps in kiln's folder of settings: a pair of keys, and names of devices.
 *
 *     device.key, device.pub    the user's own
 *     devices                   NAME HOST:PORT KEY, one a line
 */
#include "pipeline/curve/curve.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 1000, MAX_NAME = 64 };

static kiln_status file_in(kiln_arena *a, const char *name, const char **path,
                           kiln_err *err) {
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (config != NULL && config[0] == '/')
        *path = kiln_path_join(a, config, kiln_format(a, "kiln/%s", name));
    else if (home != NULL && home[0] == '/')
        *path = kiln_path_join(a, home, kiln_format(a, ".config/kiln/%s", name));
    else
        return kiln_fail(err, KILN_ERR_MISSING, "no place for '%s': HOME is not set",
                         name);
    return KILN_OK;
}

kiln_status kiln_curve_own_key(kiln_arena *a, const char **path, kiln_err *err) {
    return file_in(a, "device.key", path, err);
}

/* Letters, digits, and - . _ between them: no address, no option, no path. */
static bool is_name(kiln_str s) {
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.p[i];
        const bool is_letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_letter && (i == 0 || (c != '-' && c != '.' && c != '_')))
            return false;
    }
    return s.n > 0 && s.n <= MAX_NAME;
}

static kiln_status read_line(kiln_arena *a, const char *path, int at, kiln_str line,
                             kiln_known_devices *out, kiln_err *err) {
    kiln_str word[3];
    kiln_known_device d;
    for (int i = 0; i < 3; i++) {
        if (!kiln_str_cut(&line, ' ', &word[i]))
            return kiln_fail(err, KILN_ERR_PARSE,
                             "line %d of '%s' is not NAME HOST:PORT KEY", at, path);
        line = kiln_str_trim(line);
    }
    d.name = kiln_str_dupv(a, word[0]);
    d.place = kiln_str_dupv(a, word[1]);
    if (!is_name(word[0]) || word[2].n != KILN_CURVE_KEY_TEXT - 1 ||
        kiln_curve_public_read(kiln_str_dupv(a, word[2]), &d.key, err) != KILN_OK)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "line %d of '%s' is not NAME HOST:PORT KEY", at, path);
    if (out->list.n == MAX_DEVICES)
        return kiln_fail(err, KILN_ERR_LIMIT, "'%s' has more than %d devices", path,
                         MAX_DEVICES);
    kiln_vec_push(a, &out->list, d);
    return KILN_OK;
}

static kiln_status read_from(kiln_arena *a, const char *path, kiln_known_devices *out,
                             kiln_err *err) {
    enum { MAX_BYTES = MAX_DEVICES * 512 };
    kiln_str text, line;
    int at = 0;
    *out = (kiln_known_devices){.list = {.n = 0}};
    if (!kiln_file_exists(path))
        return KILN_OK;
    KILN_TRY(kiln_file_map(a, path, MAX_BYTES, &text, err));
    while (kiln_str_cut(&text, '\n', &line)) {
        at++;
        line = kiln_str_trim(line);
        if (line.n > 0 && line.p[0] != '#')
            KILN_TRY(read_line(a, path, at, line, out, err));
    }
    return KILN_OK;
}

kiln_status kiln_known_read(kiln_arena *a, kiln_known_devices *out, kiln_err *err) {
    const char *path;
    KILN_TRY(file_in(a, "devices", &path, err));
    return read_from(a, path, out, err);
}

/* All but the one of that name, and `d` where there is one. */
static kiln_status write_with(kiln_arena *a, const char *name,
                              const kiln_known_device *d, bool *had, kiln_err *err) {
    kiln_known_devices all;
    kiln_buf text;
    const char *path;
    char digits[KILN_CURVE_KEY_TEXT];
    *had = false;
    KILN_TRY(file_in(a, "devices", &path, err));
    KILN_TRY(read_from(a, path, &all, err));
    kiln_buf_init(&text, a);
    for (size_t i = 0; i <= all.list.n; i++) {
        const kiln_known_device *one = i < all.list.n ? &all.list.v[i] : d;
        if (i < all.list.n && strcmp(one->name, name) == 0) {
            *had = true;
            continue;
        }
        if (one == NULL)
            break;
        kiln_curve_key_text(&one->key, digits);
        kiln_buf_printf(&text, "%s %s %s\n", one->name, one->place, digits);
    }
    KILN_TRY(kiln_dir_make(kiln_path_dir(a, path), err));
    return kiln_file_write(path, text.p, text.n, err);
}

kiln_status kiln_known_add(kiln_arena *a, const kiln_known_device *d, kiln_err *err) {
    bool had;
    if (!is_name(kiln_str_from(d->name)))
        return kiln_fail(err, KILN_ERR_ARG,
                         "a device's name has letters, digits, '-', '.' and '_', at "
                         "most %d, is '%s'",
                         MAX_NAME,
                         kiln_str_printable(a, kiln_str_from(d->name), MAX_NAME));
    return write_with(a, d->name, d, &had, err);
}

kiln_status kiln_known_remove(kiln_arena *a, const char *name, kiln_err *err) {
    bool had;
    KILN_TRY(write_with(a, name, NULL, &had, err));
    if (had)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG, "there is no device '%s'",
                     kiln_str_printable(a, kiln_str_from(name), MAX_NAME));
}

kiln_status kiln_known_address(kiln_arena *a, const char *name_or_address,
                               const char **out, kiln_err *err) {
    kiln_known_devices all;
    char digits[KILN_CURVE_KEY_TEXT];
    *out = name_or_address;
    if (strchr(name_or_address, ':') != NULL)
        return KILN_OK;
    KILN_TRY(kiln_known_read(a, &all, err));
    for (size_t i = 0; i < all.list.n; i++)
        if (strcmp(all.list.v[i].name, name_or_address) == 0) {
            kiln_curve_key_text(&all.list.v[i].key, digits);
            *out = kiln_format(a, "curve://%s?device=%s", all.list.v[i].place, digits);
            return KILN_OK;
        }
    return kiln_fail(err, KILN_ERR_ARG,
                     "there is no device '%s', and it is no address; kiln device add "
                     "makes it known",
                     kiln_str_printable(a, kiln_str_from(name_or_address), MAX_NAME));
}
