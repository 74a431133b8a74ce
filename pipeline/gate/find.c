/* Archives below folders; and small facts about files and this machine. */
#include "pipeline/gate/gate_internal.h"

#include <string.h>

enum { MAX_DEPTH = 16, MAX_ARCHIVES = 10000, MAX_SENTENCE = 1000 };

static kiln_status find_below(kiln_arena *a, const char *dir, int depth,
                              kiln_gate_paths *out, kiln_err *err) {
    char **name = NULL;
    size_t n = 0;
    if (depth > MAX_DEPTH)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "'%s': folders are searched %d deep; name one further down",
                         dir, MAX_DEPTH);
    KILN_TRY(kiln_dir_list(a, dir, &name, &n, err));
    for (size_t i = 0; i < n; i++) {
        const char *path = kiln_path_join(a, dir, name[i]);
        if (kiln_dir_exists(path))
            KILN_TRY(find_below(a, path, depth + 1, out, err));
        else if (kiln_str_ends(kiln_str_from(name[i]), KILN_ARCHIVE_ENDING))
            kiln_vec_push(a, out, path);
        if (out->n > MAX_ARCHIVES)
            return kiln_fail(err, KILN_ERR_LIMIT, "'%s' has more than %d archives", dir,
                             MAX_ARCHIVES);
    }
    return KILN_OK;
}

kiln_status kiln_gate_find_archives(kiln_arena *a, const char *const *path, size_t n,
                                    kiln_gate_paths *out, kiln_err *err) {
    *out = (kiln_gate_paths){.n = 0};
    for (size_t i = 0; i < n; i++) {
        const size_t before = out->n;
        if (!kiln_dir_exists(path[i]) || kiln_package_is_folder(path[i])) {
            kiln_vec_push(a, out, path[i]);
            continue;
        }
        KILN_TRY(find_below(a, path[i], 0, out, err));
        if (out->n == before)
            return kiln_fail(err, KILN_ERR_ARG,
                             "'%s' has no *" KILN_ARCHIVE_ENDING ": nothing to do",
                             path[i]);
    }
    return KILN_OK;
}

kiln_status kiln_gate_machine(kiln_arena *a, const kiln_device *where, const char **out,
                              kiln_err *err) {
    kiln_profile p;
    kiln_machine m;
    if (where != NULL) {
        *out = where->machine;
        return KILN_OK;
    }
    KILN_TRY(kiln_profile_detect(a, &p, err));
    kiln_machine_read(a, &m);
    *out =
        kiln_format(a, "%s, %d core%s, features %016llx",
                    m.cpu[0] != '\0' ? m.cpu : p.cpu, p.cores, p.cores == 1 ? "" : "s",
                    (unsigned long long)kiln_hash64(p.features, strlen(p.features), 0));
    return KILN_OK;
}

kiln_status kiln_gate_hash(kiln_arena *a, const char *path, const char **sha256,
                           int64_t *bytes, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str file;
    char hex[KILN_SHA256_HEX] = "";
    const kiln_status st = kiln_file_map(&scratch, path, 0, &file, err);
    if (st == KILN_OK) {
        kiln_sha256_of(file.p, file.n, hex);
        *bytes = (int64_t)file.n;
        *sha256 = kiln_str_dup(a, hex);
    }
    kiln_arena_fini(&scratch);
    return st;
}

const char *kiln_gate_sentence(kiln_arena *a, const kiln_err *err) {
    kiln_buf out;
    kiln_str rest = kiln_str_from(err->text), line;
    kiln_buf_init(&out, a);
    while (kiln_str_cut(&rest, '\n', &line)) {
        line = kiln_str_trim(line);
        kiln_buf_printf(&out, "%s%.*s", out.n > 0 ? ", " : "", KILN_STR_ARG(line));
    }
    return kiln_str_printable(a, kiln_buf_str(&out), MAX_SENTENCE);
}
