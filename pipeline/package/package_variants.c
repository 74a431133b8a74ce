/* Several packages in one archive: put together, and one of them chosen. */
#include "pipeline/package/package_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- choosing --------------------------------------------------------------------- */

kiln_status kiln_opened_choose(kiln_arena *a, kiln_opened *p, size_t i, kiln_err *err) {
    KILN_ASSERT(i < p->n_variants, "variant %zu of %zu", i, p->n_variants);
    kiln_opened o = *p;
    o.chosen = i;
    o.folder = kiln_path_join(a, p->root, p->variant[i].folder);
    o.facts = *p->variant[i].facts;
    KILN_TRY(kiln_device_package_read(a, o.folder, &o.package, err));
    KILN_TRY(kiln_device_find_for(a, o.where, &o.facts.profile, &o.device, err));
    *p = o;
    return KILN_OK;
}

/* Profiles that nobody here runs, each once, with the reason. */
static kiln_status none_runs(kiln_arena *a, const kiln_opened *p, const char *path,
                             kiln_err *err) {
    kiln_buf why;
    const kiln_device *device = NULL;
    kiln_buf_init(&why, a);
    for (size_t i = 0; i < p->n_variants; i++) {
        const kiln_profile *own = &p->variant[i].facts->profile;
        kiln_err one = {.status = KILN_OK};
        if (i > 0 && strcmp(own->name, p->variant[i - 1].facts->profile.name) == 0)
            continue;
        (void)kiln_device_find_for(a, p->where, own, &device, &one);
        kiln_buf_printf(&why, "%s%s", i > 0 ? "; " : "", one.text);
    }
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "none of the profiles that are in '%s' runs %s: %.*s", path,
                     p->where != NULL ? "there" : "here",
                     KILN_STR_ARG(kiln_buf_str(&why)));
}

kiln_status kiln_opened_choose_first(kiln_arena *a, kiln_opened *p, const char *path,
                                     kiln_err *err) {
    for (int may_emulate = 0; may_emulate < 2; may_emulate++)
        for (size_t i = 0; i < p->n_variants; i++) {
            const kiln_device *device = NULL;
            kiln_err one = {.status = KILN_OK};
            if (kiln_device_find_for(a, p->where, &p->variant[i].facts->profile,
                                     &device, &one) == KILN_OK &&
                (may_emulate == 1 || !device->is_emulated))
                return kiln_opened_choose(a, p, i, err);
        }
    return none_runs(a, p, path, err);
}

/* ---- by inputs -------------------------------------------------------------------- */

static const kiln_package_port *find_port(kiln_arena *a, const kiln_package_facts *f,
                                          const char *name) {
    const char *decoded = NULL;
    for (int as_file = 0; as_file < 2; as_file++) {
        for (size_t i = 0; i < f->n_inputs; i++)
            if (strcmp(f->input[i].name, as_file == 0 ? name : decoded) == 0)
                return &f->input[i];
        if (as_file == 0 && !kiln_port_name_of(a, name, &decoded))
            break;
    }
    return NULL;
}

/* Inputs that it does not know fit: who takes them says what is wrong. */
static bool takes(kiln_arena *a, const kiln_package_facts *f,
                  const kiln_run_options *o) {
    for (size_t i = 0; i < o->n_in; i++) {
        const kiln_type *t = &o->in[i].value.type;
        const kiln_package_port *port = find_port(a, f, o->in[i].name);
        if (port != NULL &&
            (port->rank != t->rank ||
             memcmp(port->dim, t->dim, (size_t)t->rank * sizeof t->dim[0]) != 0))
            return false;
    }
    return true;
}

static const char *shapes_of(kiln_arena *a, const kiln_package_facts *f) {
    const char *text = "";
    for (size_t i = 0; i < f->n_inputs; i++)
        text = kiln_format(a, "%s%s%s %s", text, i > 0 ? ", " : "",
                           kiln_str_printable(a, kiln_str_from(f->input[i].name), 64),
                           kiln_shape_text(a, f->input[i].rank, f->input[i].dim));
    return text;
}

kiln_status kiln_opened_choose_for(kiln_arena *a, kiln_opened *p,
                                   const kiln_run_options *o, kiln_err *err) {
    const char *profile = p->facts.profile.name, *all = "", *given = "";
    for (size_t i = 0; i < p->n_variants; i++) {
        const kiln_package_facts *f = p->variant[i].facts;
        if (strcmp(f->profile.name, profile) != 0)
            continue;
        if (takes(a, f, o))
            return i == p->chosen ? KILN_OK : kiln_opened_choose(a, p, i, err);
        all =
            kiln_format(a, "%s%s%s", all, all[0] != '\0' ? "; " : "", shapes_of(a, f));
    }
    if (p->n_variants == 0)
        return KILN_OK;
    for (size_t i = 0; i < o->n_in; i++)
        given = kiln_format(
            a, "%s%s%s %s", given, i > 0 ? ", " : "",
            kiln_str_printable(a, kiln_str_from(o->in[i].name), 64),
            kiln_shape_text(a, o->in[i].value.type.rank, o->in[i].value.type.dim));
    return kiln_fail(err, KILN_ERR_SHAPE, "'%s' was not built for %s; it was for: %s",
                     p->facts.model, given, all);
}

static bool is_like(const kiln_package_facts *x, const kiln_package_facts *y) {
    bool same =
        strcmp(x->profile.name, y->profile.name) == 0 && x->n_inputs == y->n_inputs;
    for (size_t i = 0; i < x->n_inputs && same; i++)
        same = x->input[i].rank == y->input[i].rank &&
               memcmp(x->input[i].dim, y->input[i].dim, sizeof x->input[i].dim) == 0;
    return same;
}

kiln_status kiln_opened_choose_like(kiln_arena *a, kiln_opened *p,
                                    const kiln_package_facts *like, bool *found,
                                    kiln_err *err) {
    *found = p->n_variants == 0 && is_like(&p->facts, like);
    for (size_t i = 0; i < p->n_variants; i++)
        if (is_like(p->variant[i].facts, like)) {
            *found = true;
            return kiln_opened_choose(a, p, i, err);
        }
    return KILN_OK;
}

/* ---- putting together ------------------------------------------------------------- */

/* Does code of `x` need less than that of `y`? */
static bool needs_less(const kiln_profile *x, const kiln_profile *y) {
    char missing[128];
    return kiln_profile_runs_on(x, y, missing) && !kiln_profile_runs_on(y, x, missing);
}

void kiln_profiles_best_first(kiln_profile *p, size_t n) {
    for (size_t done = 0; done < n; done++) {
        size_t best = done;
        for (size_t i = done + 1; i < n; i++)
            if (needs_less(&p[best], &p[i]))
                best = i;
        const kiln_profile chosen = p[best];
        for (size_t i = best; i > done; i--)
            p[i] = p[i - 1];
        p[done] = chosen;
    }
}

/* Every variant once more, as it is now: its self-test, where it can run. */
static kiln_status check(kiln_arena *a, const char *archive, int threads,
                         kiln_err *err) {
    kiln_opened p;
    kiln_checks checks = {.n_passed = 0};
    KILN_TRY(kiln_package_open(a, archive, &p, err));
    for (size_t i = 0; i < p.n_variants; i++) {
        KILN_TRY(kiln_opened_choose(a, &p, i, err));
        KILN_TRY(kiln_opened_selftest(a, &p, &threads, 1, &checks, err));
    }
    for (size_t i = 0; i < checks.list.n; i++)
        if (checks.list.v[i].outcome == KILN_FAILED)
            return kiln_fail(err, KILN_ERR_BUG, "its %s among others: %s",
                             checks.list.v[i].name, checks.list.v[i].reason);
    return KILN_OK;
}

static kiln_status name_of(kiln_arena *a, const char *archive,
                           const kiln_build_options *o, const char **out,
                           kiln_err *err) {
    kiln_package_facts f;
    *out = o->path;
    if (o->path != NULL)
        return KILN_OK;
    KILN_TRY(kiln_package_inspect(a, archive, &f, err));
    const char *name = kiln_package_file_name(a, &f);
    *out = o->folder != NULL ? kiln_path_join(a, o->folder, name) : name;
    return KILN_OK;
}

static kiln_status join(kiln_arena *scratch, const char *const *archive, size_t n,
                        const kiln_build_options *o, const char *path, char *sha256,
                        kiln_err *err) {
    const char *folder = NULL;
    int64_t time_s = 0;
    KILN_TRY(kiln_dir_temp_in(scratch, kiln_path_dir(scratch, path), &folder, err));
    const char *unproved = kiln_path_join(scratch, folder, kiln_path_base(path));
    KILN_TRY(kiln_package_time(&time_s, err));
    if (o->again != NULL)
        time_s = o->again->time_s;
    KILN_TRY(kiln_package_write_variants(archive, n, time_s, unproved, sha256, err));
    if (!o->no_verify && o->again == NULL)
        KILN_TRY(check(scratch, unproved, o->threads > 0 ? o->threads : 1, err));
    return rename(unproved, path) == 0
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_IO, "'%s' cannot be given its name", path);
}

kiln_status kiln_package_join(kiln_arena *a, kiln_build *part, size_t n,
                              const kiln_build_options *o, kiln_err *err) {
    KILN_ASSERT(n > 0, "no packages are joined");
    kiln_arena scratch = {0};
    const char **archive = kiln_array(a, const char *, n);
    const char *path = NULL;
    char sha256[KILN_SHA256_HEX];
    kiln_str file;
    for (size_t i = 0; i < n; i++)
        archive[i] = part[i].path;
    kiln_status st = name_of(a, archive[0], o, &path, err);
    if (st == KILN_OK)
        st = join(&scratch, archive, n, o, path, sha256, err);
    if (st == KILN_OK)
        st = kiln_file_map(&scratch, path, 0, &file, err);
    for (size_t i = 0; i < n && st == KILN_OK; i++) {
        part[i].path = path;
        part[i].bytes = file.n;
        memcpy(part[i].sha256, sha256, sizeof sha256);
    }
    kiln_arena_fini(&scratch);
    if (st != KILN_OK)
        kiln_note(err, "putting %zu variants into one archive", n);
    return st;
}
