/* From a graph to an archive. */
#include "pipeline/package/package_internal.h"

#include "base/fault.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- what the package says about itself ------------------------------------------ */

static const char *const *steps_of(kiln_arena *a, const kiln_network *n, int kernel,
                                   size_t *n_steps) {
    const char **name = kiln_array(a, const char *, n->step.n + n->open.n);
    *n_steps = 0;
    for (size_t i = 0; i < n->open.n; i++)
        if (n->open.v[i].kernel == kernel)
            name[(*n_steps)++] = n->open.v[i].name;
    for (size_t i = 0; i < n->step.n; i++)
        if (n->step.v[i].kernel == kernel)
            name[(*n_steps)++] = n->step.v[i].name;
    return name;
}

static void keep_layouts(kiln_arena *a, const kiln_net *n, kiln_package_facts *f) {
    kiln_package_layouts *kept = kiln_array(a, kiln_package_layouts, n->searched.n);
    for (size_t i = 0; i < n->searched.n; i++)
        kept[i] =
            (kiln_package_layouts){n->searched.v[i].step, n->searched.v[i].layouts};
    f->searched = kept;
    f->n_searched = n->searched.n;
}

/* A GPU's object is a text, which is what it is. */
static kiln_status code_of(kiln_arena *a, const kiln_network_kernel *k,
                           kiln_package_kernel *out, kiln_err *err) {
    if (kiln_arch_of(k->profile->arch)->kind == KILN_TARGET_CPU)
        return kiln_package_code_of(a, k->profile->arch, k->object.bytes,
                                    &out->code_sha256, &out->code_bytes, err);
    char *sha256 = kiln_arena_alloc(a, KILN_SHA256_HEX);
    kiln_sha256_of(k->object.bytes.p, k->object.bytes.n, sha256);
    out->code_sha256 = sha256;
    out->code_bytes = (int64_t)k->object.bytes.n;
    return KILN_OK;
}

kiln_status kiln_package_kernels_of(kiln_arena *a, const kiln_network *n,
                                    kiln_package_facts *f, kiln_err *err) {
    kiln_package_kernel *out = kiln_array(a, kiln_package_kernel, n->kernel.n);
    for (size_t i = 0; i < n->kernel.n; i++) {
        const kiln_network_kernel *k = &n->kernel.v[i];
        out[i] =
            (kiln_package_kernel){.symbol = k->symbol,
                                  .origin = kiln_coverage_name(kiln_coverage_of(k)),
                                  .tmpl = k->tmpl,
                                  .config = k->config,
                                  .workload = k->workload,
                                  .muladds = k->cost.muladds,
                                  .flops = k->cost.flops,
                                  .bytes = k->cost.bytes};
        out[i].step = steps_of(a, n, (int)i, &out[i].n_steps);
        KILN_TRY(code_of(a, k, &out[i], err));
    }
    f->kernel = out;
    f->n_kernels = n->kernel.n;
    keep_layouts(a, n->net, f);
    return KILN_OK;
}

static const kiln_package_fixed *fixed_of(kiln_arena *a, const kiln_import_options *o) {
    const size_t n = o != NULL ? o->n_values : 0;
    kiln_package_fixed *out = kiln_array(a, kiln_package_fixed, n);
    for (size_t i = 0; i < n; i++)
        out[i] = kiln_package_fixed_of(a, o->values[i].name, &o->values[i].value);
    return out;
}

static kiln_package_facts facts_of(kiln_arena *a, const kiln_source *s,
                                   const kiln_network *n, const kiln_tolerance *t,
                                   const kiln_build_options *o) {
    kiln_profile profile = *n->profile;
    if (profile.measure != NULL && strcmp(profile.measure, kiln_device_local.name) == 0)
        profile.measure = NULL; /* wherever it runs */
    return (kiln_package_facts){
        .model = s->name,
        .version = o->version != NULL ? o->version : "1",
        .source_sha256 = s->sha256,
        .licence = o->licence,
        .fixed = fixed_of(a, o->import),
        .n_fixed = o->import != NULL ? o->import->n_values : 0,
        .as_reference = o->import != NULL && o->import->as_reference,
        .kiln_version = KILN_VERSION,
        .kiln_commit = kiln_own_version().commit,
        .llvm_version = kiln_codegen_llvm_version(a),
        .profile = profile,
        .threads = o->threads,
        .is_unproved = o->again != NULL ? o->again->is_unproved : o->no_verify,
        .tolerance = {t->relative, t->rms, t->absolute},
        .memory = {.lower_bound = (uint64_t)n->lower_bound}};
}

/* ---- contents -------------------------------------------------------------------- */

kiln_str kiln_package_graph_of(kiln_arena *a, const kiln_graph *g,
                               const kiln_network *n) {
    kiln_package_step *step = kiln_array(a, kiln_package_step, n->step.n);
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_network_step *s = &n->step.v[i];
        KILN_ASSERT(s->kernel < (int)n->kernel.n, "step '%s' runs kernel %d of %zu",
                    s->name, s->kernel, n->kernel.n);
        step[i] = (kiln_package_step){
            .name = s->name,
            .op = s->op,
            .kernel = s->kernel < 0 ? NULL : n->kernel.v[s->kernel].symbol,
            .node = s->node,
            .n_nodes = (size_t)s->n_nodes,
            .device = strcmp(s->device, KILN_PLACE_HOST) != 0 ? s->device : NULL,
            .epilogue = s->epilogue,
            .layout_in = s->layout_in,
            .layout_out = s->layout_out,
            .in = s->in,
            .out = s->out,
            .n_in = (size_t)s->n_in,
            .n_out = (size_t)s->n_out};
    }
    return kiln_package_graph_json(a, g, step, n->step.n);
}

static kiln_str params_head(kiln_arena *a, const kiln_network *n) {
    kiln_package_tensor *tensor = kiln_array(a, kiln_package_tensor, n->param.n);
    for (size_t i = 0; i < n->param.n; i++)
        tensor[i] = (kiln_package_tensor){n->param.v[i].name, n->param.v[i].type,
                                          n->param.v[i].offset};
    return kiln_package_params_head(a, tensor, n->param.n, n->param_bytes);
}

static kiln_status link_kernels(kiln_arena *a, const kiln_network *n, size_t module,
                                kiln_str *out, kiln_err *err) {
    const kiln_network_module *m = &n->module.v[module];
    kiln_package_object *object = kiln_array(a, kiln_package_object, n->kernel.n);
    size_t n_objects = 0;
    for (size_t i = 0; i < n->kernel.n; i++)
        if (n->module.v[module].is_called[i])
            object[n_objects++] = (kiln_package_object){n->kernel.v[i].symbol,
                                                        n->kernel.v[i].object.bytes};
    if (m->code.n > 0) {
        *out = m->code;
        return KILN_OK;
    }
    return kiln_package_link(a, m->profile->arch, object, n_objects, out, err);
}

static kiln_status link_modules(kiln_arena *a, const kiln_network *n, kiln_package *p,
                                kiln_err *err) {
    kiln_str *module = kiln_array(a, kiln_str, n->module.n);
    KILN_TRY(link_kernels(a, n, 0, &p->lib, err));
    for (size_t i = 1; i < n->module.n; i++)
        KILN_TRY(link_kernels(a, n, i, &module[i - 1], err));
    p->module = module;
    p->n_modules = n->module.n - 1;
    return KILN_OK;
}

static const kiln_package_expected *expected(kiln_arena *a, const kiln_expectation *e) {
    kiln_package_expected *out = kiln_array(a, kiln_package_expected, e->n_out);
    for (size_t i = 0; i < e->n_out; i++)
        out[i] =
            (kiln_package_expected){e->out[i].value, e->out[i].at, e->out[i].bound};
    return out;
}

static kiln_status size_of(const char *path, uint64_t *bytes, kiln_err *err) {
    kiln_arena scratch = {0};
    kiln_str file;
    const kiln_status st = kiln_file_map(&scratch, path, 0, &file, err);
    *bytes = st == KILN_OK ? file.n : 0;
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status pack(kiln_arena *a, const kiln_source *s, const kiln_expectation *e,
                        const kiln_network *n, const kiln_build_options *o,
                        const char *to, kiln_build *b, kiln_err *err) {
    kiln_package p = {.facts = facts_of(a, s, n, &e->tolerance, o),
                      .plan = n->plan,
                      .graph = kiln_package_graph_of(a, n->net->g, n),
                      .params_head = params_head(a, n),
                      .params = n->params};
    if (n->param_bytes > 0 && KILN_FAULT(archive_params)) {
        unsigned char *other = kiln_arena_dup(a, n->params, n->param_bytes);
        other[3] ^= 0x40;
        p.params = other;
    }
    KILN_TRY(kiln_package_kernels_of(a, n, &p.facts, err));
    KILN_TRY(kiln_package_time(&p.time_s, err));
    if (o->again != NULL)
        p.time_s = o->again->time_s;
    KILN_TRY(kiln_package_linker(a, &p.facts.lld_version, err));
    KILN_TRY(link_modules(a, n, &p, err));
    kiln_package_selftest_make(a, e->in, e->n_in, expected(a, e), e->n_out,
                               &p.selftest);
    KILN_TRY(kiln_package_write(&p, to, b->sha256, err));
    return size_of(to, &b->bytes, err);
}

static const char *path_of(kiln_arena *a, const kiln_source *s,
                           const kiln_expectation *e, const kiln_network *n,
                           const kiln_build_options *o) {
    const kiln_package_facts f = facts_of(a, s, n, &e->tolerance, o);
    const char *name = kiln_package_file_name(a, &f);
    if (o->path != NULL)
        return o->path;
    return o->folder != NULL ? kiln_path_join(a, o->folder, name) : name;
}

static kiln_status prove(kiln_arena *a, const char *archive, const kiln_expectation *e,
                         const kiln_network *n, const kiln_build_options *o,
                         kiln_build *b, kiln_err *err) {
    const int cores = n->profile->cores > 1 ? 2 : 1;
    const kiln_proof_options how = {.arena = a,
                                    .expectation = e,
                                    .n_threads =
                                        o->threads > cores ? o->threads : cores,
                                    .seed = o->seed};
    return o->no_verify || o->again != NULL
               ? KILN_OK
               : kiln_package_prove(archive, n, &how, &b->proof, err);
}

/* It is unpacked and run before it appears: nothing that only takes bytes will do. */
static kiln_status check_place(const char *path, kiln_err *err) {
    struct stat st;
    return stat(path, &st) != 0 || S_ISREG(st.st_mode)
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_ARG,
                           "'%s' is no regular file: an archive is proved before it "
                           "appears; name a file",
                           path);
}

/* In a folder of its own until it is proved. */
static kiln_status appear(kiln_arena *a, const kiln_source *s,
                          const kiln_expectation *e, const kiln_network *n,
                          const kiln_build_options *o, kiln_build *b, kiln_err *err) {
    kiln_arena scratch = {0};
    const char *folder = NULL, *unproved = NULL;
    b->path = path_of(a, s, e, n, o);
    kiln_status st = check_place(b->path, err);
    if (st == KILN_OK)
        st = kiln_dir_temp_in(&scratch, kiln_path_dir(&scratch, b->path), &folder, err);
    if (st == KILN_OK) {
        unproved = kiln_path_join(&scratch, folder, kiln_path_base(b->path));
        st = pack(a, s, e, n, o, unproved, b, err);
    }
    if (st == KILN_OK)
        st = prove(a, unproved, e, n, o, b, err);
    if (st == KILN_OK && rename(unproved, b->path) != 0)
        st = kiln_fail(err, KILN_ERR_IO, "'%s' cannot be given its name", b->path);
    if (st == KILN_ERR_IO && unproved != NULL)
        kiln_note(err, "before it appears as '%s'", b->path);
    kiln_arena_fini(&scratch);
    return st;
}

kiln_status kiln_package_build(kiln_arena *a, const kiln_source *s,
                               const kiln_expectation *e, const kiln_profile *p,
                               const kiln_build_options *o, kiln_build *out,
                               kiln_err *err) {
    const kiln_network_options how = {.choose = o->choose,
                                      .chooser = o->chooser,
                                      .placement = o->placement,
                                      .pack_at_open = o->pack_at_open};
    const int64_t begin = kiln_now_ns();
    kiln_network n;
    KILN_TRY(kiln_network_compile(a, s->graph, p, &how, &n, err));
    KILN_ASSERT(n.profile == p && n.plan.n > 0, "the network of '%s' has no plan",
                s->name);
    kiln_build b = {.model = s->name,
                    .profile = p->name,
                    .numerics = p->numerics == KILN_NUMERICS_STRICT ? "strict" : "fast",
                    .cost = s->cost,
                    .n_steps = n.n_steps,
                    .n_conversions = n.n_conversions,
                    .forecast = n.net->forecast,
                    .n_kernels = n.kernel.n,
                    .arena = n.arena_bytes,
                    .lower_bound = n.lower_bound,
                    .params = (int64_t)n.param_bytes,
                    .workspace = n.workspace_bytes,
                    .scratch = n.scratch_bytes,
                    .packed = n.packed_bytes,
                    .n_open = (int)n.open.n};
    b.selftest = (kiln_build_selftest){e->law, e->n_elems, e->n_held, e->n_weak};
    kiln_ledger_of(a, &n, &b.ledger);
    const kiln_status st = appear(a, s, e, &n, o, &b, err);
    b.time_ms = (kiln_now_ns() - begin) / 1000000;
    if (st != KILN_OK) {
        kiln_note(err, "packing '%s' for profile '%s'", s->name, p->name);
        return st;
    }
    *out = b;
    return KILN_OK;
}
