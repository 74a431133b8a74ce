/* Modules of a GPU: written, opened, linked. */
#include "compiler/codegen/codegen_gpu_module.h"
#include "base/numbers.h"

#include <string.h>

/* What a module is made of, while it grows. */
typedef struct writer {
    kiln_arena *arena;
    uint32_t language;
    KILN_VEC(kiln_gpu_kernel) kernel;
    KILN_VEC(kiln_gpu_launch) launch;
    KILN_VEC(kiln_gpu_arg) arg;
    kiln_buf strings, code;
    kiln_numbers entries; /* names of code, and of kernels */
    const char *most;     /* the text whose heading is taken; NULL: the first's own */
} writer;

static writer begin(kiln_arena *a, uint32_t language) {
    writer w = {.arena = a, .language = language};
    kiln_buf_init(&w.strings, a);
    kiln_buf_init(&w.code, a);
    kiln_buf_puts(&w.strings, "");
    kiln_buf_puts(&w.code, "");
    return w;
}

/* Each name once. */
static uint32_t string(writer *w, const char *text) {
    const size_t at = kiln_numbers_get(&w->entries, kiln_str_from(text));
    if (at > 0)
        return (uint32_t)(at - 1);
    const uint32_t now = (uint32_t)w->strings.n;
    kiln_buf_add(&w->strings, text, strlen(text) + 1);
    kiln_numbers_set(w->arena, &w->entries, kiln_str_from(text), (size_t)now + 1);
    return now;
}

static size_t rounded(size_t n) { return (n + 7) / 8 * 8; }

static kiln_status finish(writer *w, kiln_str *out, kiln_err *err) {
    kiln_gpu_header h = {.version = KILN_GPU_VERSION,
                         .language = w->language,
                         .n_kernels = (uint32_t)w->kernel.n,
                         .n_launches = (uint32_t)w->launch.n,
                         .n_args = (uint32_t)w->arg.n};
    memcpy(h.magic, KILN_GPU_MAGIC, sizeof h.magic);
    h.kernels = rounded(sizeof h);
    h.launches = h.kernels + rounded(w->kernel.n * sizeof *w->kernel.v);
    h.args = h.launches + rounded(w->launch.n * sizeof *w->launch.v);
    h.strings = h.args + rounded(w->arg.n * sizeof *w->arg.v);
    h.string_bytes = w->strings.n;
    h.code = h.strings + rounded(w->strings.n);
    h.code_bytes = w->code.n + 1;
    h.bytes = rounded((size_t)(h.code + h.code_bytes));
    if (h.bytes > KILN_GPU_MAX_BYTES)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "a GPU's module must have at most %d bytes, has %llu",
                         KILN_GPU_MAX_BYTES, (unsigned long long)h.bytes);
    char *to = kiln_arena_alloc(w->arena, (size_t)h.bytes);
    memcpy(to, &h, sizeof h);
    if (w->kernel.n > 0)
        memcpy(to + h.kernels, w->kernel.v, w->kernel.n * sizeof *w->kernel.v);
    if (w->launch.n > 0)
        memcpy(to + h.launches, w->launch.v, w->launch.n * sizeof *w->launch.v);
    if (w->arg.n > 0)
        memcpy(to + h.args, w->arg.v, w->arg.n * sizeof *w->arg.v);
    memcpy(to + h.strings, w->strings.p, w->strings.n);
    memcpy(to + h.code, w->code.p, w->code.n);
    *out = (kiln_str){to, (size_t)h.bytes};
    return KILN_OK;
}

/* ---- one kernel ------------------------------------------------------------------ */

static kiln_status take_extents(const kiln_gpu_split *s, const kiln_gpu_entry *e,
                                kiln_gpu_launch *to, kiln_err *err) {
    for (int i = 0; i < KILN_N_AXES; i++) {
        if (e->extent[i] < 1 || e->extent[i] > INT32_MAX)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "a launch of '%s' has %lld along %s", s->symbol,
                             (long long)e->extent[i],
                             kiln_launch_axis_name((kiln_launch_axis)i));
        if (i < KILN_AXIS_THREAD_X)
            to->grid[i] = (uint32_t)e->extent[i];
        else
            to->block[i - KILN_AXIS_THREAD_X] = (uint32_t)e->extent[i];
    }
    return KILN_OK;
}

kiln_status kiln_gpu_object(kiln_arena *a, const kiln_gpu_split *s,
                            kiln_gpu_language language, kiln_str code, kiln_object *out,
                            kiln_err *err) {
    KILN_ASSERT(s->launch.n > 0 && code.n > 0, "'%s' launches nothing", s->symbol);
    writer w = begin(a, language);
    kiln_gpu_kernel k = {.symbol = string(&w, s->symbol),
                         .n_operands = (uint32_t)s->n_operands,
                         .n_launches = (uint32_t)s->launch.n,
                         .workspace_bytes = s->workspace_bytes};
    for (size_t i = 0; i < s->launch.n; i++) {
        const kiln_gpu_started *l = &s->launch.v[i];
        const kiln_gpu_entry *e = &s->entry.v[l->entry];
        const bool has_work = e->workspace_bytes > 0;
        kiln_gpu_launch to = {.entry = string(&w, e->name),
                              .first_arg = (uint32_t)w.arg.n,
                              .n_args = (uint32_t)l->n_args + has_work};
        if (e->asks_for_shared)
            to.shared_bytes = (uint32_t)e->shared_bytes;
        if (to.n_args > KILN_GPU_MAX_ARGS)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "a launch of '%s' takes %u arguments, a GPU's at most %d",
                             s->symbol, to.n_args, KILN_GPU_MAX_ARGS);
        KILN_TRY(take_extents(s, e, &to, err));
        for (int j = 0; j < l->n_args; j++)
            kiln_vec_push(a, &w.arg, l->arg[j]);
        if (has_work)
            kiln_vec_push(
                a, &w.arg,
                ((kiln_gpu_arg){.kind = KILN_GPU_WORKSPACE, .value = l->workspace}));
        if (l->workspace + e->workspace_bytes > k.workspace_bytes)
            k.workspace_bytes = l->workspace + e->workspace_bytes;
        kiln_vec_push(a, &w.launch, to);
    }
    kiln_vec_push(a, &w.kernel, k);
    kiln_buf_add(&w.code, code.p, code.n);
    *out = (kiln_object){.workspace_bytes = (size_t)k.workspace_bytes};
    return finish(&w, &out->bytes, err);
}

kiln_status kiln_gpu_list(kiln_arena *a, kiln_str code, const kiln_profile *p,
                          kiln_buf *out, kiln_err *err) {
    (void)a;
    (void)p;
    (void)err;
    kiln_buf_add(out, code.p, code.n);
    return KILN_OK;
}

/* ---- several --------------------------------------------------------------------- */

bool kiln_gpu_is_module(kiln_str bytes) {
    return bytes.n >= sizeof(kiln_gpu_header) &&
           memcmp(bytes.p, KILN_GPU_MAGIC, strlen(KILN_GPU_MAGIC)) == 0;
}

kiln_status kiln_gpu_object_open(kiln_arena *a, kiln_str bytes, kiln_gpu_module *out,
                                 kiln_err *err) {
    char why[KILN_GPU_ERROR] = "";
    if ((uintptr_t)bytes.p % 8 != 0)
        bytes.p = kiln_arena_dup(a, bytes.p, bytes.n);
    if (kiln_gpu_module_check(bytes.p, bytes.n, out, why) != 0)
        return kiln_fail(err, KILN_ERR_PARSE, "%s", why);
    return KILN_OK;
}

/* What every text of PTX begins with, and one needs once. */
static bool is_ptx_heading(const char *line) {
    return strncmp(line, ".version", 8) == 0 || strncmp(line, ".target", 7) == 0 ||
           strncmp(line, ".address_size", 13) == 0;
}

/* The line of a text that begins as this does; NULL: it has none. */
static const char *line_like(const char *code, const char *heading) {
    const size_t n = strcspn(heading, " ");
    for (const char *line = code; *line != '\0'; line++) {
        if (strncmp(line, heading, n) == 0)
            return line;
        line += strcspn(line, "\n");
        if (*line == '\0')
            break;
    }
    return NULL;
}

/* For one architecture alone ("sm_90a"), which has what its profile's others may lack. */
static bool is_for_one(const char *code) {
    const char *line = line_like(code, ".target ");
    return line != NULL && line[strcspn(line, "\n,") - 1] == 'a';
}

static void add_code(writer *w, const char *code) {
    const bool is_first = w->code.n == 0;
    if (w->language != KILN_GPU_PTX || (is_first && w->most == NULL)) {
        kiln_buf_puts(&w->code, code);
        return;
    }
    for (const char *line = code, *next; *line != '\0'; line = next) {
        const size_t n = strcspn(line, "\n");
        const char *heading =
            is_first && is_ptx_heading(line) ? line_like(w->most, line) : NULL;
        next = line + n + (line[n] == '\n');
        if (heading != NULL)
            kiln_buf_printf(&w->code, "%.*s\n", (int)strcspn(heading, "\n"), heading);
        else if (!is_ptx_heading(line))
            kiln_buf_add(&w->code, line, (size_t)(next - line));
    }
}

static kiln_status add_module(writer *w, const kiln_gpu_module *m, kiln_err *err) {
    const uint32_t first_launch = (uint32_t)w->launch.n, first_arg = (uint32_t)w->arg.n;
    for (uint32_t i = 0; i < m->header->n_args; i++)
        kiln_vec_push(w->arena, &w->arg, m->arg[i]);
    for (uint32_t i = 0; i < m->header->n_launches; i++) {
        kiln_gpu_launch l = m->launch[i];
        l.entry = string(w, m->string + l.entry);
        l.first_arg += first_arg;
        kiln_vec_push(w->arena, &w->launch, l);
    }
    for (uint32_t i = 0; i < m->header->n_kernels; i++) {
        kiln_gpu_kernel k = m->kernel[i];
        const char *symbol = m->string + k.symbol;
        for (size_t j = 0; j < w->kernel.n; j++)
            if (strcmp(w->strings.p + w->kernel.v[j].symbol, symbol) == 0)
                return kiln_fail(err, KILN_ERR_ARG,
                                 "two modules of a GPU have a kernel '%s'", symbol);
        k.symbol = string(w, symbol);
        k.first_launch += first_launch;
        kiln_vec_push(w->arena, &w->kernel, k);
    }
    add_code(w, m->code);
    return KILN_OK;
}

kiln_status kiln_gpu_module_link(kiln_arena *a, const kiln_str *module, size_t n,
                                 kiln_str *out, kiln_err *err) {
    writer w = begin(a, KILN_GPU_OPENCL_C);
    for (size_t i = 0; i < n; i++) {
        kiln_gpu_module m;
        KILN_TRY(kiln_gpu_object_open(a, module[i], &m, err));
        if (i == 0)
            w.language = m.header->language;
        if (m.header->language != w.language)
            return kiln_fail(err, KILN_ERR_ARG,
                             "modules of two languages cannot be one");
        if (w.most == NULL && w.language == KILN_GPU_PTX && is_for_one(m.code))
            w.most = m.code;
    }
    for (size_t i = 0; i < n; i++) {
        kiln_gpu_module m;
        KILN_TRY(kiln_gpu_object_open(a, module[i], &m, err));
        KILN_TRY(add_module(&w, &m, err));
    }
    return finish(&w, out, err);
}
