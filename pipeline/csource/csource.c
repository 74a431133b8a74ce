/* From a graph to files of C. Functions are printed while kernels are compiled, as their
 * programs are gone afterwards. */
#include "pipeline/csource/csource_internal.h"

#include <inttypes.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------- */

const char *kiln_csource_name(kiln_csource_writer *w, const char *prefix,
                              const char *wanted) {
    const char *word = kiln_c_word(w->arena, wanted);
    const char *first = kiln_format(w->arena, "%s_%s", prefix, word), *name = first;
    for (int i = 2; kiln_map_has(&w->names, kiln_str_from(name)); i++)
        name = kiln_format(w->arena, "%s_%d", first, i);
    kiln_map_set(w->arena, &w->names, kiln_str_from(name), name);
    return name;
}

static const char *upper_of(kiln_arena *a, const char *name) {
    char *out = kiln_str_dup(a, name);
    for (char *c = out; *c != '\0'; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    return out;
}

/* Nothing that is in scope where they are used is called so. */
static void name_ports(kiln_csource_writer *w) {
    static const char *const own[] = {"work", "workspace", "params"};
    const kiln_net *n = w->n->net;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        kiln_map_set(w->arena, &w->names, kiln_str_from(own[i]),
                     (void *)(uintptr_t)own[i]);
    w->port = kiln_array(w->arena, const char *, n->port.n + 1);
    for (size_t i = 0; i < n->port.n; i++) {
        const char *word = kiln_c_word(w->arena, n->port.v[i].name), *name = word;
        if (kiln_str_starts(kiln_str_from(word), "turn"))
            name = word = kiln_format(w->arena, "%s_x", word);
        for (int k = 2; kiln_map_has(&w->names, kiln_str_from(name)); k++)
            name = kiln_format(w->arena, "%s_%d", word, k);
        kiln_map_set(w->arena, &w->names, kiln_str_from(name), name);
        w->port[i] = name;
    }
}

/* ---- ports ----------------------------------------------------------------------- */

static bool has_c_type(kiln_dtype d) {
    switch (d) {
    case KILN_F32:
    case KILN_F64:
    case KILN_DTYPES_INT:
    case KILN_BOOL:
        return true;
    case KILN_F16:
    case KILN_BF16:
    case KILN_DTYPES_LOW_FLOAT:
    case KILN_DTYPES_LOW_INT:
    case KILN_N_DTYPES:
        break;
    }
    return false;
}

static kiln_status check_port(const kiln_value *v, kiln_err *err) {
    return has_c_type(v->type.dtype)
               ? KILN_OK
               : kiln_fail(err, KILN_ERR_UNSUPPORTED,
                           "C source takes and gives float, double, integers and bool: "
                           "'%s' is %s; cast it in the model",
                           v->name, kiln_dtype_name(v->type.dtype));
}

static kiln_status check_ports(const kiln_graph *g, kiln_err *err) {
    for (size_t i = 0; i < g->inputs.n; i++)
        KILN_TRY(check_port(g->inputs.v[i], err));
    for (size_t i = 0; i < g->outputs.n; i++)
        KILN_TRY(check_port(g->outputs.v[i], err));
    return KILN_OK;
}

const char *kiln_csource_port_type(const kiln_net_port *p) {
    return kiln_c_type(p->value->type.dtype);
}

/* ---- functions ------------------------------------------------------------------- */

static bool is_one_memory(const kiln_net_slot *x, const kiln_net_slot *y) {
    const bool is_port = x->place == KILN_NET_INPUT || x->place == KILN_NET_OUTPUT;
    if (x->place != y->place || (is_port && x->index != y->index))
        return false;
    return x->offset < y->offset + (uint64_t)y->bytes &&
           y->offset < x->offset + (uint64_t)x->bytes;
}

void kiln_csource_overlaps(const kiln_csource_writer *w, const kiln_net_step *s,
                           int *same, bool *is_shared) {
    const kiln_net *n = w->n->net;
    KILN_ASSERT(s->kernel >= 0 && (size_t)s->kernel < n->kernel.n &&
                    s->n_read <= s->n_operands,
                "step '%s' launches nothing", s->name);
    for (int j = 0; j < s->n_operands; j++) {
        same[j] = -1;
        is_shared[j] = false;
    }
    for (int j = s->n_read; j < s->n_operands; j++)
        for (int i = 0; i < j; i++) {
            const kiln_net_slot *x = &n->slot.v[s->operand[i]];
            const kiln_net_slot *y = &n->slot.v[s->operand[j]];
            const kiln_network_kernel *k = &n->kernel.v[s->kernel];
            if (!is_one_memory(x, y))
                continue;
            const bool is_equal = x->offset == y->offset && x->bytes == y->bytes &&
                                  strcmp(kiln_c_type(k->operand[i].dtype),
                                         kiln_c_type(k->operand[j].dtype)) == 0;
            if (!is_equal)
                is_shared[i] = is_shared[j] = true;
            else if (same[j] < 0)
                same[j] = same[i] >= 0 ? same[i] : i;
            else if (i != same[j])
                same[i] = same[j];
        }
}

static bool is_function(const kiln_csource_function *f, const kiln_net_step *s,
                        const int *same, const bool *is_shared) {
    if (f->kernel != s->kernel)
        return false;
    for (int i = 0; i < s->n_operands; i++)
        if (f->same[i] != same[i] || f->is_shared[i] != is_shared[i])
            return false;
    return true;
}

static const kiln_csource_function *find(const kiln_csource_writer *w,
                                         const kiln_net_step *s, const int *same,
                                         const bool *is_shared) {
    for (size_t i = 0; i < w->function.n; i++)
        if (is_function(&w->function.v[i], s, same, is_shared))
            return &w->function.v[i];
    return NULL;
}

const kiln_csource_function *kiln_csource_function_of(const kiln_csource_writer *w,
                                                      const kiln_net_step *s) {
    int *same = kiln_array(w->arena, int, s->n_operands);
    bool *is_shared = kiln_array(w->arena, bool, s->n_operands);
    kiln_csource_overlaps(w, s, same, is_shared);
    const kiln_csource_function *f = find(w, s, same, is_shared);
    KILN_ASSERT(f != NULL, "step '%s' calls what was not printed", s->name);
    return f;
}

static const char *comment_of(kiln_csource_writer *w, const kiln_net_step *s) {
    kiln_buf out;
    const char *epilogue =
        s->group != NULL ? kiln_group_epilogue(w->arena, s->group) : "";
    kiln_buf_init(&out, w->arena);
    kiln_buf_printf(&out, "%s%s%s", s->op, epilogue[0] != '\0' ? ", then " : "",
                    epilogue);
    return out.p;
}

static kiln_status print_for(kiln_csource_writer *w, const kiln_net_step *s,
                             const kiln_program *p) {
    int *same = kiln_array(w->arena, int, s->n_operands);
    bool *is_shared = kiln_array(w->arena, bool, s->n_operands);
    kiln_c_printed made;
    kiln_csource_overlaps(w, s, same, is_shared);
    if (find(w, s, same, is_shared) != NULL)
        return KILN_OK;
    const kiln_c_function f = {.name = kiln_csource_name(w, w->name, s->name),
                               .comment = comment_of(w, s),
                               .same = same,
                               .is_shared = is_shared};
    KILN_TRY(kiln_c_print(&w->unit, p, &f, &made, w->err));
    const kiln_csource_function printed = {f.name, s->kernel, same, is_shared,
                                           made.workspace_bytes};
    kiln_vec_push(w->arena, &w->function, printed);
    return KILN_OK;
}

/* The executable graph is planned: which operands are one memory is known. */
static void watch(void *watcher, int kernel, const kiln_scheduled *s,
                  const kiln_program *p) {
    kiln_csource_writer *w = watcher;
    const kiln_net *n = w->n->net;
    (void)s;
    for (size_t i = 0; i < n->step.n && w->status == KILN_OK; i++)
        if (n->step.v[i].kind == KILN_NET_CALL && n->step.v[i].kernel == kernel)
            w->status = print_for(w, &n->step.v[i], p);
}

/* Behind all tensors: to the byte, where no kernel wants more. */
static uint64_t last_byte(const kiln_net *n) {
    uint64_t end = 0;
    for (size_t i = 0; i < n->slot.n; i++)
        if (n->slot.v[i].place == KILN_NET_ARENA &&
            n->slot.v[i].offset + (uint64_t)n->slot.v[i].bytes > end)
            end = n->slot.v[i].offset + (uint64_t)n->slot.v[i].bytes;
    return end;
}

static void size_workspace(kiln_csource_writer *w) {
    uint64_t most = 0;
    w->arena_bytes = ((uint64_t)w->n->net->arena_bytes + 63) / 64 * 64;
    if (w->is_library) {
        kiln_csource_size_library(w);
        return;
    }
    for (size_t i = 0; i < w->function.n; i++)
        if (w->function.v[i].workspace_bytes > most)
            most = w->function.v[i].workspace_bytes;
    w->workspace_bytes = most > 0 ? w->arena_bytes + most : last_byte(w->n->net);
}

/* Places are enumerators, which are ints. */
static kiln_status check_sizes(const kiln_csource_writer *w, kiln_err *err) {
    const uint64_t params = w->n->param_bytes;
    if (w->workspace_bytes <= INT32_MAX && params <= INT32_MAX)
        return KILN_OK;
    return kiln_fail(
        err, KILN_ERR_LIMIT,
        "C source and libraries hold 2 GiB of parameters and of workspace at most, "
        "here are %" PRIu64 " and %" PRIu64 "; build a package",
        params, w->workspace_bytes);
}

/* ---- files ----------------------------------------------------------------------- */

static kiln_status save(kiln_arena *a, const char *folder, const char *name,
                        const char *ending, kiln_str text, kiln_csource *out,
                        kiln_err *err) {
    const char *path = kiln_path_join(a, folder, kiln_format(a, "%s%s", name, ending));
    KILN_TRY(kiln_file_write(path, text.p, text.n, err));
    kiln_vec_push(a, &out->path, path);
    return KILN_OK;
}

static kiln_str source_of(kiln_csource_writer *w) {
    kiln_buf out, run;
    kiln_buf_init(&out, w->arena);
    kiln_buf_init(&run, w->arena);
    kiln_csource_put_run(w, &run);
    kiln_csource_put_head(w, "the network", &out);
    kiln_buf_printf(&out, "#include \"%s.h\"\n\n", w->name);
    kiln_buf_puts(&out, w->unit.dialect->headers);
    if (strstr(run.p, "memcpy(") != NULL)
        kiln_buf_puts(&out, "\n#include <string.h>\n");
    kiln_buf_add(&out, w->unit.helpers.p, w->unit.helpers.n);
    kiln_buf_add(&out, w->unit.functions.p, w->unit.functions.n);
    kiln_buf_add(&out, run.p, run.n);
    return kiln_buf_str(&out);
}

static kiln_status save_params(const kiln_csource_writer *w,
                               const kiln_csource_options *o, kiln_csource *out,
                               kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, w->arena);
    if (w->n->param_bytes == 0)
        return KILN_OK;
    if (o->params == KILN_CSOURCE_PARAMS_C) {
        kiln_csource_put_params(w, &text);
        return save(w->arena, o->folder, w->name, "_params.c", kiln_buf_str(&text), out,
                    err);
    }
    kiln_csource_put_blob(w, &text);
    KILN_TRY(save(w->arena, o->folder, w->name, "_params.bin",
                  (kiln_str){w->n->params, w->n->param_bytes}, out, err));
    return save(w->arena, o->folder, w->name, "_params.S", kiln_buf_str(&text), out,
                err);
}

static kiln_status save_source(kiln_csource_writer *w, const kiln_csource_options *o,
                               kiln_csource *out, kiln_err *err) {
    KILN_TRY(save(w->arena, o->folder, w->name, ".c", source_of(w), out, err));
    return save_params(w, o, out, err);
}

static kiln_status save_library(const kiln_csource_writer *w,
                                const kiln_csource_options *o, kiln_csource *out,
                                kiln_err *err) {
    const bool is_shared = o->format == KILN_CSOURCE_SHARED;
    kiln_str bytes;
    KILN_TRY(kiln_csource_link(w, is_shared, &bytes, err));
    return save(w->arena, o->folder, kiln_format(w->arena, "lib%s", w->name),
                is_shared ? ".so" : ".a", bytes, out, err);
}

static kiln_status save_all(kiln_csource_writer *w, const kiln_expectation *e,
                            const kiln_csource_options *o, kiln_csource *out,
                            kiln_err *err) {
    kiln_buf header, selftest;
    kiln_buf_init(&header, w->arena);
    kiln_buf_init(&selftest, w->arena);
    kiln_csource_put_header(w, &header);
    kiln_csource_put_selftest(w, e, &selftest);
    KILN_TRY(kiln_dir_make(o->folder, err));
    KILN_TRY(save(w->arena, o->folder, w->name, ".h", kiln_buf_str(&header), out, err));
    KILN_TRY(w->is_library ? save_library(w, o, out, err)
                           : save_source(w, o, out, err));
    return save(w->arena, o->folder, w->name, "_selftest.c", kiln_buf_str(&selftest),
                out, err);
}

static kiln_status write_all(kiln_csource_writer *w, const kiln_source *s,
                             const kiln_expectation *e, const kiln_profile *p,
                             const kiln_csource_options *o, kiln_csource *out,
                             kiln_err *err) {
    kiln_network *n = kiln_new(w->arena, kiln_network);
    const kiln_network_options how = {.choose = o->choose,
                                      .chooser = o->chooser,
                                      .kernel_prefix =
                                          kiln_format(w->arena, "%s_", w->name),
                                      .watch = w->is_library ? NULL : watch,
                                      .watcher = w};
    w->n = n;
    KILN_TRY(check_ports(s->graph, err));
    KILN_TRY(kiln_network_compile(w->arena, s->graph, p, &how, n, err));
    KILN_TRY(w->status);
    if (n->net->device.n > 1)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "code for '%s' is launched by a driver, and is no library: "
                         "build a package",
                         p->name);
    name_ports(w);
    size_workspace(w);
    KILN_TRY(check_sizes(w, err));
    *out = (kiln_csource){.name = w->name,
                          .profile = p->name,
                          .n_functions =
                              (int)(w->is_library ? n->kernel.n : w->function.n),
                          .n_steps = n->n_steps,
                          .workspace_bytes = w->workspace_bytes,
                          .param_bytes = n->param_bytes};
    return save_all(w, e, o, out, err);
}

kiln_status kiln_csource_write(kiln_arena *a, const kiln_source *s,
                               const kiln_expectation *e, const kiln_profile *p,
                               const kiln_csource_options *o, kiln_csource *out,
                               kiln_err *err) {
    kiln_err watched = {.status = KILN_OK};
    const char *name = kiln_c_word(a, s->name);
    kiln_csource_writer w = {.arena = a,
                             .name = name,
                             .upper = upper_of(a, name),
                             .is_library = o->format != KILN_CSOURCE_C,
                             .err = &watched};
    kiln_c_unit_init(a, &kiln_c_dialect_c99, &w.unit);
    (void)kiln_csource_name(&w, name, "run");
    (void)kiln_csource_name(&w, name, "params");
    const kiln_status st = write_all(&w, s, e, p, o, out, err);
    if (st != KILN_OK && w.status != KILN_OK)
        *err = watched;
    if (st != KILN_OK)
        kiln_note(err, "writing '%s' for profile '%s' as %s", s->name, p->name,
                  w.is_library ? "a library" : "C source");
    return st;
}

/* ---- what was written ------------------------------------------------------------ */

void kiln_csource_text(kiln_buf *out, const kiln_csource *c) {
    kiln_buf_printf(out,
                    "%s for %s: %d functions, %d steps\n"
                    "workspace: %" PRIu64 " bytes\nparameters: %" PRIu64 " bytes\n",
                    c->name, c->profile, c->n_functions, c->n_steps, c->workspace_bytes,
                    c->param_bytes);
    for (size_t i = 0; i < c->path.n; i++)
        kiln_buf_printf(out, "file: %s\n", c->path.v[i]);
}
