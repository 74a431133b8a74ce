/* Where the file of an entry is: at its own address, or at its path under a mirror's base. */
#include <string.h>

#include "zoo/zoo_fetch.h"

/* ---- URLs ------------------------------------------------------------------------ */

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~/", c) != NULL);
}

static const char *escaped(kiln_arena *a, const char *path) {
    kiln_buf out;
    kiln_buf_init(&out, a);
    for (; *path != '\0'; path++)
        if (is_plain(*path))
            kiln_buf_add(&out, path, 1);
        else
            kiln_buf_printf(&out, "%%%02X", (unsigned)(unsigned char)*path);
    return kiln_str_dupv(a, kiln_buf_str(&out));
}

const char *kiln_url_below(kiln_arena *a, const char *folder, const char *path) {
    return kiln_format(a, "%s/%s", folder, escaped(a, path));
}

static int hex_of(char c) {
    static const char digits[] = "0123456789abcdef";
    const char lower = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
    const char *at = lower != '\0' ? strchr(digits, lower) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* And back; what is no escape stays. */
static void unescape(char *path) {
    char *to = path;
    for (const char *from = path; *from != '\0'; from++) {
        const bool is_escape =
            from[0] == '%' && hex_of(from[1]) >= 0 && hex_of(from[2]) >= 0;
        *to++ = is_escape ? (char)(hex_of(from[1]) * 16 + hex_of(from[2])) : *from;
        from += is_escape ? 2 : 0;
    }
    *to = '\0';
}

/* What is behind the host, without a query. */
static char *path_of_url(kiln_arena *a, const char *url) {
    const char *at = strstr(url, "://");
    at = at != NULL ? strchr(at + 3, '/') : NULL;
    char *path = kiln_str_dup(a, at != NULL ? at + strspn(at, "/") : "");
    path[strcspn(path, "?#")] = '\0';
    return path;
}

const char *kiln_fetch_path(kiln_arena *a, const kiln_fetch_entry *e) {
    if (e->path != NULL)
        return e->path;
    char *path = path_of_url(a, e->url);
    unescape(path);
    return path;
}

/* ---- mirrors --------------------------------------------------------------------- */

static kiln_status base_of_folder(kiln_arena *a, const char *folder, const char **out,
                                  kiln_err *err) {
    const char *real;
    if (!kiln_dir_exists(folder))
        return kiln_fail(err, KILN_ERR_ARG,
                         "the mirror '%s' is no folder that is there; name one, or a "
                         "URL: https://, http:// or file:///",
                         folder);
    KILN_TRY(kiln_path_real(a, folder, &real, err));
    *out = kiln_format(a, "file://%s", escaped(a, real));
    return KILN_OK;
}

/* Without a slash at its end. */
static kiln_status base_of(kiln_arena *a, const char *mirror, const char **out,
                           kiln_err *err) {
    static const char *const kind[] = {"https://", "http://", "file:///"};
    size_t n = strlen(mirror);
    bool is_known = false;
    if (strstr(mirror, "://") == NULL)
        return base_of_folder(a, mirror, out, err);
    for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++)
        is_known |= strncmp(mirror, kind[i], strlen(kind[i])) == 0;
    if (!is_known || strcspn(mirror, " \t\r\n?#") != n)
        return kiln_fail(
            err, KILN_ERR_ARG,
            "a mirror must be a folder, or begin with https://, http:// or "
            "file:/// and have no blank, '?' or '#', is '%s'",
            kiln_str_printable(a, kiln_str_from(mirror), 200));
    while (n > 0 && mirror[n - 1] == '/')
        n--;
    *out = kiln_str_dupv(a, (kiln_str){mirror, n});
    return KILN_OK;
}

kiln_status kiln_fetch_address(kiln_arena *a, const kiln_fetch_entry *e,
                               const char *mirror, const char **out, kiln_err *err) {
    const char *base;
    if (mirror == NULL && e->url != NULL) {
        *out = e->url;
        return KILN_OK;
    }
    if (mirror == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "it has no address of its own%s%s; put the file into a folder "
                         "as '%s', and name the folder by --mirror",
                         e->source != NULL ? ": it is from " : "",
                         e->source != NULL ? e->source : "", e->path);
    KILN_TRY(base_of(a, mirror, &base, err));
    if (e->path != NULL) {
        *out = kiln_url_below(a, base, e->path);
        return KILN_OK;
    }
    const char *path = path_of_url(a, e->url);
    if (path[0] == '\0')
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%s' names no file that a mirror could have; give the "
                         "catalog's entry a \"path\"",
                         e->url);
    *out = kiln_format(a, "%s/%s", base, path);
    return KILN_OK;
}
