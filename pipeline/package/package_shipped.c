/* What a package holds, or a model would be built to: steps, kernels, records. */
#include "pipeline/package/package_shipped.h"

#include "pipeline/package/package_internal.h"

#include <stdint.h>
#include <string.h>

static void take_kernels(kiln_arena *a, kiln_shipped *s) {
    for (size_t i = 0; i < s->facts.n_kernels; i++) {
        const kiln_shipped_kernel k = {
            .is = s->facts.kernel[i],
            .not_made = "the package has code alone: --model M makes schedule and loop "
                        "program of it again"};
        kiln_vec_push(a, &s->kernel, k);
    }
}

/* ---- packages -------------------------------------------------------------------- */

static kiln_status unpack(kiln_arena *a, const char *path, kiln_opened *p,
                          kiln_err *err) {
    const kiln_unpack_options o = {.is_held = true};
    const char *dir = NULL;
    p->folder = path;
    if (kiln_package_is_folder(path)) {
        KILN_TRY(kiln_package_inspect_folder(a, path, &p->facts, err));
    } else {
        KILN_TRY(kiln_dir_temp(a, &dir, err));
        p->folder = kiln_path_join(a, dir, "package");
        KILN_TRY(kiln_package_unpack_by(a, path, p->folder, &o, &p->facts, err));
    }
    if (p->facts.n_variants > 0) { /* the first; others by their folders */
        p->folder = kiln_path_join(a, p->folder, p->facts.variant[0].folder);
        p->facts = *p->facts.variant[0].facts;
    }
    return KILN_OK;
}

/* By name, as the manifest has them: a name that comes again takes the next kernel that
 * says so. */
static int kernel_of(const kiln_package_facts *f, const char *step) {
    for (size_t k = 0; k < f->n_kernels; k++)
        for (size_t i = 0; i < f->kernel[k].n_steps; i++)
            if (strcmp(f->kernel[k].step[i], step) == 0)
                return (int)k;
    return -1;
}

static void take_steps(kiln_arena *a, kiln_shipped *s, const kiln_device_step *from,
                       size_t n) {
    for (size_t i = 0; i < n; i++) {
        const kiln_shipped_step step = {.name = from[i].name,
                                        .op = from[i].op,
                                        .kernel = kernel_of(&s->facts, from[i].name)};
        kiln_vec_push(a, &s->step, step);
    }
}

/* graph.json has the steps of a run in the plan's order. */
static kiln_status take_types(kiln_arena *a, kiln_shipped *s, kiln_err *err) {
    const kiln_package_step *from = NULL;
    size_t n = 0;
    KILN_TRY(kiln_package_steps_read(a, s->package.folder, &from, &n, err));
    if (n + s->n_open != s->step.n)
        return kiln_fail(err, KILN_ERR_PARSE,
                         "graph.json: %zu steps, the plan has %zu: the package was "
                         "not made by kiln",
                         n, s->step.n - s->n_open);
    for (size_t i = 0; i < n; i++) {
        kiln_shipped_step *to = &s->step.v[i];
        to->in = from[i].in;
        to->out = from[i].out;
        to->n_in = from[i].n_in;
        to->n_out = from[i].n_out;
    }
    return KILN_OK;
}

kiln_status kiln_shipped_of_package(kiln_arena *a, const char *path, kiln_shipped *out,
                                    kiln_err *err) {
    kiln_shipped s = {.path = path};
    KILN_TRY(unpack(a, path, &s.package, err));
    KILN_TRY(kiln_device_package_read(a, s.package.folder, &s.package.package, err));
    s.facts = s.package.facts;
    take_kernels(a, &s);
    const kiln_device_package *p = &s.package.package;
    take_steps(a, &s, p->step, p->n_steps);
    take_steps(a, &s, p->open, p->n_open);
    s.n_open = p->n_open;
    KILN_TRY(take_types(a, &s, err));
    *out = s;
    return KILN_OK;
}

/* ---- models ---------------------------------------------------------------------- */

typedef struct made {
    const char *schedule, *program;
} made;
typedef struct watcher {
    kiln_arena *arena;
    KILN_VEC(made) made;
} watcher;

static void watch(void *user, int kernel, const kiln_scheduled *s,
                  const kiln_program *p) {
    watcher *w = user;
    kiln_buf schedule, program;
    KILN_ASSERT(w->made.n == (size_t)kernel, "kernel %d after %zu", kernel, w->made.n);
    kiln_buf_init(&schedule, w->arena);
    kiln_buf_init(&program, w->arena);
    kiln_schedule_print(&schedule, s->schedule);
    kiln_program_print(&program, p);
    const made m = {schedule.p, program.p};
    kiln_vec_push(w->arena, &w->made, m);
}

static kiln_status compile(kiln_arena *a, const kiln_graph *g, const kiln_profile *p,
                           kiln_network_options o, watcher *w, kiln_network *out,
                           kiln_err *err) {
    *w = (watcher){.arena = a};
    o.watch = watch;
    o.watcher = w;
    return kiln_network_compile(a, g, p, &o, out, err);
}

kiln_status kiln_shipped_of_model(kiln_arena *a, const kiln_source *source,
                                  const kiln_profile *p,
                                  const kiln_choose_options *choose, int threads,
                                  kiln_shipped *out, kiln_err *err) {
    kiln_network *n = kiln_new(a, kiln_network);
    kiln_shipped s = {.path = source->name, .network = n};
    watcher w;
    KILN_TRY(compile(a, source->graph, p, (kiln_network_options){.choose = choose}, &w,
                     n, err));
    s.facts = (kiln_package_facts){
        .model = source->name, .profile = *p, .threads = threads > 0 ? threads : 1};
    KILN_TRY(kiln_package_kernels_of(a, n, &s.facts, err));
    take_kernels(a, &s);
    KILN_ASSERT(w.made.n >= s.kernel.n, "%zu kernels, %zu were made", s.kernel.n,
                w.made.n);
    for (size_t i = 0; i < s.kernel.n; i++) {
        s.kernel.v[i].schedule = w.made.v[i].schedule;
        s.kernel.v[i].program = w.made.v[i].program;
        s.kernel.v[i].not_made = NULL;
    }
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_network_step *k = &n->step.v[i];
        const kiln_shipped_step step = {.name = k->name,
                                        .op = k->op,
                                        .kernel = k->kernel,
                                        .in = k->in,
                                        .out = k->out,
                                        .n_in = (size_t)k->n_in,
                                        .n_out = (size_t)k->n_out};
        kiln_vec_push(a, &s.step, step);
    }
    *out = s;
    return KILN_OK;
}

/* ---- a package's model ----------------------------------------------------------- */

/* The package's choices as a file of configurations; the template's own rule is left to
 * the rule, which knows the layouts that it meets. */
static kiln_status choices_of(kiln_arena *a, const kiln_package_facts *f,
                              const kiln_json **out, kiln_err *err) {
    kiln_buf text;
    kiln_json_writer w;
    kiln_map seen = {.slot = NULL};
    kiln_buf_init(&text, a);
    kiln_json_writer_init(&w, &text);
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < f->n_kernels; i++) {
        const kiln_package_kernel *k = &f->kernel[i];
        const kiln_json *config = NULL;
        if (strcmp(k->origin, "default") == 0 || strcmp(k->origin, "generic") == 0 ||
            kiln_map_has(&seen, kiln_str_from(k->workload)))
            continue;
        kiln_map_set(a, &seen, kiln_str_from(k->workload), &seen);
        KILN_TRY(kiln_json_parse(a, kiln_str_from(k->config), "configuration", &config,
                                 err));
        kiln_json_begin_object(&w);
        kiln_json_member_str(&w, "op", k->workload);
        kiln_json_member_str(&w, "template", k->tmpl);
        kiln_json_name(&w, "config");
        kiln_json_put(&w, config);
        kiln_json_end_object(&w);
    }
    kiln_json_end_array(&w);
    return kiln_json_parse(a, kiln_buf_str(&text), "configurations", out, err);
}

/* What a search had chosen, and the package keeps. */
static const kiln_net_given *given_of(kiln_arena *a, const kiln_package_facts *f) {
    kiln_net_given *given = kiln_array(a, kiln_net_given, f->n_searched);
    for (size_t i = 0; i < f->n_searched; i++) {
        const int k = kernel_of(f, f->searched[i].step);
        given[i] = (kiln_net_given){.step = f->searched[i].step,
                                    .tmpl = k < 0 ? NULL : f->kernel[k].tmpl,
                                    .config = k < 0 ? NULL : f->kernel[k].config,
                                    .layouts = f->searched[i].types};
    }
    return given;
}

/* The kernel of the same step. */
static int same_step(const kiln_network *n, const char *name) {
    for (size_t i = 0; i < n->step.n; i++)
        if (strcmp(n->step.v[i].name, name) == 0)
            return n->step.v[i].kernel;
    for (size_t i = 0; i < n->open.n; i++)
        if (strcmp(n->open.v[i].name, name) == 0)
            return n->open.v[i].kernel;
    return -1;
}

static void take_made(kiln_arena *a, kiln_shipped *s, const kiln_package_facts *again,
                      const watcher *w) {
    for (size_t i = 0; i < s->kernel.n; i++) {
        kiln_shipped_kernel *k = &s->kernel.v[i];
        const int at = k->is.n_steps > 0 ? same_step(s->network, k->is.step[0]) : -1;
        k->not_made = "the model compiled again has no such step";
        if (at < 0)
            continue;
        const kiln_package_kernel *now = &again->kernel[at];
        k->schedule = w->made.v[at].schedule;
        k->program = w->made.v[at].program;
        k->not_made =
            k->is.code_sha256 == NULL || now->code_sha256 == NULL
                ? "whether the package has this code is not known"
            : strcmp(k->is.code_sha256, now->code_sha256) == 0
                ? NULL
                : kiln_format(a,
                              "compiled again it is other code, by template %s: "
                              "kiln %s built the package, this is %s",
                              now->tmpl, s->facts.kiln_version, KILN_VERSION);
    }
}

kiln_status kiln_shipped_add_model(kiln_arena *a, kiln_shipped *s, const char *model,
                                   const kiln_fixed_inputs *fixed, kiln_err *err) {
    kiln_network *n = kiln_new(a, kiln_network);
    kiln_choose_options choose = {.tmpl = NULL};
    kiln_package_facts again = {.model = s->facts.model};
    kiln_source source;
    watcher w;
    KILN_TRY(kiln_package_source(a, &s->package, model, fixed, &source, err));
    KILN_TRY(choices_of(a, &s->facts, &choose.file, err));
    const kiln_network_options o = {.choose = &choose,
                                    .given = given_of(a, &s->facts),
                                    .n_given = s->facts.n_searched,
                                    .chooser = &kiln_net_chooser_greedy,
                                    .pack_at_open = s->facts.memory.packed > 0};
    KILN_TRY(compile(a, source.graph, &s->facts.profile, o, &w, n, err));
    KILN_TRY(kiln_package_kernels_of(a, n, &again, err));
    s->network = n;
    take_made(a, s, &again, &w);
    return KILN_OK;
}

/* ---- records --------------------------------------------------------------------- */

static bool is_task_of(const kiln_db_task *t, const kiln_shipped *s,
                       const kiln_shipped_kernel *k, bool is_gpus) {
    const bool is_strict = s->facts.profile.numerics == KILN_NUMERICS_STRICT;
    const int threads = s->facts.threads > 0 && !is_gpus ? s->facts.threads : 1;
    return strcmp(t->workload, k->is.workload) == 0 && t->threads == threads &&
           strcmp(t->numerics, is_strict ? "strict" : "fast") == 0;
}

/* Those of the package's profile, whatever its text says besides. */
static kiln_status tasks_on(kiln_arena *a, kiln_db *db, const kiln_profile *p,
                            kiln_db_tasks *out, kiln_err *err) {
    kiln_db_tasks all;
    kiln_buf json;
    char want[KILN_SHA256_HEX], key[KILN_SHA256_HEX];
    kiln_buf_init(&json, a);
    kiln_profile_json(&json, p);
    kiln_db_profile_key(json.p, want);
    *out = (kiln_db_tasks){.list = {.n = 0}};
    KILN_TRY(kiln_db_tasks_of(db, a, &all, err));
    for (size_t i = 0; i < all.list.n; i++) {
        kiln_db_profile_key(all.list.v[i].profile_json, key);
        if (strcmp(key, want) == 0)
            kiln_vec_push(a, &out->list, all.list.v[i]);
    }
    return KILN_OK;
}

static kiln_status ask(kiln_arena *a, kiln_db *db, const kiln_db_task *t,
                       const char *whose, kiln_shipped_kernel *k, kiln_err *err) {
    enum { N_EACH = 10000 };
    kiln_db_bests bests;
    KILN_TRY(kiln_db_best(db, a, t, KILN_DB_EXACT, N_EACH, &bests, err));
    for (size_t i = 0; i < bests.list.n; i++) {
        const double ms = bests.list.v[i].trial.median_ns * 1e-6;
        if (k->record == NULL || ms < k->best_ms)
            k->best_ms = ms;
        k->record = whose;
    }
    if ((int)bests.list.n > k->n_tried)
        k->n_tried = (int)bests.list.n;
    return KILN_OK;
}

/* By whom its template is for. */
static bool is_of_device(const kiln_profile *p, const kiln_shipped_kernel *k) {
    const kiln_template *t = kiln_template_find(kiln_str_from(k->is.tmpl));
    return p->device != NULL && t != NULL &&
           kiln_arch_of(p->device->arch)->kind == t->target;
}

kiln_status kiln_shipped_ask_db(kiln_arena *a, kiln_shipped *s, kiln_db *db,
                                const char *whose, kiln_err *err) {
    const kiln_profile *p = &s->facts.profile;
    kiln_db_tasks hosts, devices = {.list = {.n = 0}};
    KILN_TRY(tasks_on(a, db, p, &hosts, err));
    if (p->device != NULL)
        KILN_TRY(tasks_on(a, db, p->device, &devices, err));
    for (size_t i = 0; i < s->kernel.n; i++) {
        kiln_shipped_kernel *k = &s->kernel.v[i];
        const bool is_known = k->record != NULL, is_gpus = is_of_device(p, k);
        const kiln_db_tasks *of = is_gpus ? &devices : &hosts;
        for (size_t t = 0; t < of->list.n && !is_known; t++)
            if (is_task_of(&of->list.v[t], s, k, is_gpus))
                KILN_TRY(ask(a, db, &of->list.v[t], whose, k, err));
    }
    return KILN_OK;
}

/* ---- steps ----------------------------------------------------------------------- */

kiln_status kiln_shipped_find(const kiln_shipped *s, const char *word, size_t *out,
                              kiln_err *err) {
    int64_t n = 0;
    for (size_t i = 0; i < s->step.n; i++)
        if (strcmp(s->step.v[i].name, word) == 0) {
            *out = i;
            return KILN_OK;
        }
    if (kiln_parse_i64(kiln_str_from(word), &n) && n >= 1 && (uint64_t)n <= s->step.n) {
        *out = (size_t)n - 1;
        return KILN_OK;
    }
    return kiln_fail(err, KILN_ERR_ARG,
                     "--step must be 1 to %zu or a step's name, is '%.64s'; without it "
                     "all are listed",
                     s->step.n, word);
}
