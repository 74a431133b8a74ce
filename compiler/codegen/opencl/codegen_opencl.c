/* OpenCL C 1.2: each launch of the program is a kernel function of the text, printed by
 * compiler/codegen/c. A driver compiles it, so the text is all there is. */
#include "compiler/codegen/c/c.h"
#include "compiler/codegen/codegen_gpu_module.h"

#include <inttypes.h>

static kiln_natives natives(const kiln_profile *profile) {
    kiln_natives n = kiln_c_natives_opencl;
    n.name = profile->name;
    return n;
}

/* What one block has together: the text declares all of it at once. */
static kiln_status check_shared(const kiln_gpu_entry *e, const kiln_profile *profile,
                                kiln_err *err) {
    if ((int64_t)e->shared_bytes <= profile->gpu.shared_bytes)
        return KILN_OK;
    return kiln_fail(
        err, KILN_ERR_UNSUPPORTED,
        "blocks of '%s' take %zu bytes of shared memory, '%s' has %" PRId64,
        e->program->name, e->shared_bytes, profile->name, profile->gpu.shared_bytes);
}

static kiln_status print(kiln_arena *a, kiln_gpu_split *s, const kiln_profile *profile,
                         kiln_str *out, kiln_err *err) {
    kiln_c_unit u;
    kiln_c_unit_init(a, &kiln_c_dialect_opencl, &u);
    for (size_t i = 0; i < s->entry.n; i++) {
        kiln_gpu_entry *e = &s->entry.v[i];
        kiln_c_printed made;
        const kiln_c_function f = {
            .name = e->name, .comment = e->program->name, .extent = e->extent};
        KILN_TRY(kiln_c_print(&u, e->program, &f, &made, err));
        e->workspace_bytes = made.workspace_bytes;
        e->shared_bytes = made.shared_bytes;
        KILN_TRY(check_shared(e, profile, err));
    }
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_buf_puts(&text, u.dialect->headers);
    kiln_buf_add(&text, u.helpers.p, u.helpers.n);
    kiln_buf_add(&text, u.functions.p, u.functions.n);
    *out = kiln_buf_str(&text);
    return KILN_OK;
}

static kiln_status generate(kiln_arena *a, const kiln_program *p,
                            const kiln_profile *profile, const kiln_codegen_options *o,
                            kiln_object *out, kiln_codegen_text *text, kiln_err *err) {
    kiln_gpu_split split;
    kiln_str code = {"", 0};
    KILN_TRY(kiln_gpu_split_program(a, p, &split, err));
    KILN_TRY(print(a, &split, profile, &code, err));
    if (o != NULL && text != NULL && o->want_assembly)
        text->assembly = code;
    return kiln_gpu_object(a, &split, KILN_GPU_OPENCL_C, code, out, err);
}

const kiln_generator kiln_generator_opencl = {
    .name = "opencl",
    .backend = &kiln_c_backend_opencl,
    .language = KILN_GPU_OPENCL_C,
    .natives = natives,
    .generate = generate,
    .list = kiln_gpu_list,
};
