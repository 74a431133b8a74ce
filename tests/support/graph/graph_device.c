#include "tests/support/graph/graph_device.h"

#include "packager/packager.h"

static kiln_status write_file(kiln_arena *a, const char *folder, const char *name,
                              kiln_str bytes, kiln_err *err) {
    return kiln_file_write(kiln_path_join(a, folder, name), bytes.p, bytes.n, err);
}

static kiln_str params_of(kiln_arena *a, const kiln_network *n) {
    kiln_package_tensor *tensor = kiln_array(a, kiln_package_tensor, n->param.n);
    kiln_buf out;
    for (size_t i = 0; i < n->param.n; i++)
        tensor[i] = (kiln_package_tensor){n->param.v[i].name, n->param.v[i].type,
                                          n->param.v[i].offset};
    const kiln_str head =
        kiln_package_params_head(a, tensor, n->param.n, n->param_bytes);
    kiln_buf_init(&out, a);
    kiln_buf_add(&out, head.p, head.n);
    kiln_buf_add(&out, n->params, n->param_bytes);
    return kiln_buf_str(&out);
}

kiln_status graph_device_package(kiln_arena *a, const kiln_network *n,
                                 kiln_device_package *out, kiln_err *err) {
    kiln_package_object *object = kiln_array(a, kiln_package_object, n->kernel.n);
    const char *folder = NULL;
    kiln_str lib;
    for (size_t i = 0; i < n->kernel.n; i++)
        object[i] =
            (kiln_package_object){n->kernel.v[i].symbol, n->kernel.v[i].object.bytes};
    KILN_TRY(kiln_package_link(a, n->profile->arch, object, n->kernel.n, &lib, err));
    KILN_TRY(kiln_dir_temp(a, &folder, err));
    KILN_TRY(write_file(a, folder, "lib.so", lib, err));
    KILN_TRY(write_file(a, folder, "plan.bin", n->plan, err));
    KILN_TRY(write_file(a, folder, "params.safetensors", params_of(a, n), err));
    return kiln_device_package_read(a, folder, out, err);
}
