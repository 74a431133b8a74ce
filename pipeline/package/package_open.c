/* An archive verified and held in memory; its inputs and outputs by name. */
#include "pipeline/package/package_internal.h"

#include <string.h>

static kiln_status unpack(kiln_arena *a, const char *path, const kiln_keyring *keys,
                          kiln_opened *p, kiln_err *err) {
    const kiln_unpack_options o = {
        .keys = keys, .is_held = true, .says = &p->is_signed};
    if (kiln_dir_exists(path) && keys != NULL)
        return kiln_fail(
            err, KILN_ERR_PARSE,
            "'%s' is a folder, which has no signature, and one by a key of "
            "'%s' is required: name the archive that it was unpacked from",
            path, keys->path);
    if (kiln_package_is_folder(path)) {
        p->folder = path;
        return kiln_package_inspect_folder(a, path, &p->facts, err);
    }
    const char *dir = NULL;
    kiln_progress_step("opening the package", NULL, 0, 0, kiln_path_base(path));
    KILN_TRY(kiln_dir_temp(a, &dir, err));
    p->folder = kiln_path_join(a, dir, "package");
    return kiln_package_unpack_by(a, path, p->folder, &o, &p->facts, err);
}

kiln_status kiln_package_open(kiln_arena *a, const char *path, kiln_opened *out,
                              kiln_err *err) {
    return kiln_package_open_by(a, path, NULL, out, err);
}

kiln_status kiln_package_open_by(kiln_arena *a, const char *path,
                                 const kiln_keyring *keys, kiln_opened *out,
                                 kiln_err *err) {
    return kiln_package_open_on(a, path, keys, NULL, out, err);
}

kiln_status kiln_package_open_on(kiln_arena *a, const char *path,
                                 const kiln_keyring *keys, const kiln_device *where,
                                 kiln_opened *out, kiln_err *err) {
    kiln_opened p = {.where = where};
    KILN_TRY(unpack(a, path, keys, &p, err));
    if (p.facts.n_variants > 0) {
        p.root = p.folder;
        p.variant = p.facts.variant;
        p.n_variants = p.facts.n_variants;
        KILN_TRY(kiln_opened_choose_first(a, &p, path, err));
        *out = p;
        return KILN_OK;
    }
    KILN_TRY(kiln_device_package_read(a, p.folder, &p.package, err));
    const kiln_status st =
        kiln_device_find_for(a, where, &p.facts.profile, &p.device, err);
    if (st != KILN_OK) {
        kiln_note(err, "looking for a device to run '%s'", path);
        return st;
    }
    *out = p;
    return KILN_OK;
}

/* ---- inputs ---------------------------------------------------------------------- */

static const char *printable(kiln_arena *a, const char *name) {
    return kiln_str_printable(a, kiln_str_from(name), 200);
}

static const char *list_ports(kiln_arena *a, const kiln_device_port *port, size_t n) {
    const char *text = "";
    for (size_t i = 0; i < n; i++)
        text =
            kiln_format(a, "%s%s%s %s", text, i > 0 ? ", " : "",
                        printable(a, port[i].name), kiln_type_text(a, &port[i].type));
    return n > 0 ? text : "none";
}

static int find_port(const kiln_device_port *port, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(port[i].name, name) == 0)
            return (int)i;
    return -1;
}

static kiln_status take_input(kiln_arena *a, const kiln_device_package *p,
                              const kiln_named_tensor *given, kiln_tensor *in,
                              int64_t *n_rounded, kiln_err *err) {
    const char *decoded = NULL;
    int i = find_port(p->input, p->n_inputs, given->name);
    if (i < 0 && kiln_port_name_of(a, given->name, &decoded))
        i = find_port(p->input, p->n_inputs, decoded);
    if (i < 0)
        return kiln_fail(err, KILN_ERR_SHAPE, "'%s' has no input '%s'; inputs: %s",
                         p->model, printable(a, given->name),
                         list_ports(a, p->input, p->n_inputs));
    kiln_tensor value = given->value;
    const kiln_type *want = &p->input[i].type, *got = &value.type;
    if (in[i].data != NULL)
        return kiln_fail(err, KILN_ERR_ARG, "input '%s' is given twice",
                         printable(a, given->name));
    if (want->dtype == KILN_BF16 && got->dtype == KILN_F32 &&
        kiln_type_same_shape(want, got)) {
        in[i] = kiln_tensor_as(a, &given->value, KILN_BF16, n_rounded);
        return KILN_OK;
    }
    const kiln_status st = kiln_tensor_from_bytes(&value, want->dtype, err);
    if (st != KILN_OK) {
        kiln_note(err, "reading input '%s'", printable(a, given->name));
        return st;
    }
    if (want->dtype != got->dtype || !kiln_type_same_shape(want, got))
        return kiln_fail(err, KILN_ERR_SHAPE,
                         "input '%s' must be %s, is %s; inputs: %s",
                         printable(a, given->name), kiln_type_text(a, want),
                         kiln_type_text(a, got), list_ports(a, p->input, p->n_inputs));
    in[i] = value;
    return KILN_OK;
}

static kiln_status all_inputs(kiln_arena *a, const kiln_opened *p,
                              const kiln_run_options *o, kiln_tensor *in,
                              kiln_err *err) {
    const kiln_device_package *k = &p->package;
    for (size_t i = 0; i < o->n_in; i++)
        KILN_TRY(take_input(a, k, &o->in[i], in, o->n_rounded, err));
    for (size_t i = 0; i < k->n_inputs; i++) {
        if (in[i].data == NULL && !o->fills_random)
            return kiln_fail(err, KILN_ERR_SHAPE, "input '%s' is missing; inputs: %s",
                             printable(a, k->input[i].name),
                             list_ports(a, k->input, k->n_inputs));
        if (in[i].data == NULL)
            in[i] = kiln_ref_random(a, &k->input[i].type, o->seed + i);
    }
    return KILN_OK;
}

kiln_status kiln_opened_run(kiln_arena *a, const kiln_opened *p,
                            const kiln_run_options *o, kiln_tensor *out,
                            kiln_device_result *result, kiln_err *err) {
    const kiln_device_job job = {.n_threads = o->n_threads};
    kiln_tensor *in = kiln_array(a, kiln_tensor, p->package.n_inputs);
    KILN_TRY(all_inputs(a, p, o, in, err));
    return kiln_device_run(a, p->device, &p->package, &job, in, p->package.n_inputs,
                           out, result, err);
}
