/* Options that several verbs share: which profile, which template and configurations;
 * models and packages told apart. */
#include "cli/options/op_options.h"

#include <string.h>
#include "packager/packager.h"
#include "pipeline/curve/curve.h"
#include "pipeline/kernels/kernels.h"
#include "pipeline/machine/machine.h"
#include "pipeline/measure/wire/wire.h"
#include "pipeline/remote/remote_device.h"

bool kiln_cli_is_package(const char *path) {
    return kiln_package_is_archive(path) || kiln_package_is_folder(path) ||
           kiln_str_ends(kiln_str_from(path), ".kiln.tar.zst");
}

kiln_status kiln_cli_profile(kiln_arena *a, const char *name, kiln_profile *out,
                             kiln_err *err) {
    if (name == NULL)
        return kiln_machine_native(a, out, err);
    return kiln_machine_find(a, name, out, err);
}

kiln_status kiln_cli_cpu_profile(kiln_arena *a, const char *name, kiln_profile *out,
                                 kiln_err *err) {
    kiln_profile p;
    KILN_TRY(kiln_cli_profile(a, name, &p, err));
    if (p.device != NULL)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "profile '%s' is a GPU's, and this compares what CPUs do; "
                         "kiln tune, bench and explain take it",
                         p.name);
    *out = p;
    return KILN_OK;
}

kiln_profile kiln_cli_kernels_of(const kiln_profile *p) {
    return p->device != NULL ? *p->device : *p;
}

kiln_status kiln_cli_choose(kiln_arena *a, const char *tmpl, const char *config_file,
                            kiln_choose_options *out, kiln_err *err) {
    kiln_choose_options o = {.tmpl = tmpl};
    if (config_file != NULL) {
        KILN_TRY(kiln_json_read(a, config_file, &o.file, err));
        KILN_TRY(kiln_config_file_check(o.file, config_file, err));
        o.is_used = kiln_array(a, bool, kiln_json_size(o.file) + 1);
    }
    *out = o;
    return KILN_OK;
}

kiln_status kiln_cli_numerics(const kiln_cli_args *args, int option, kiln_profile *p,
                              kiln_err *err) {
    const char *word = kiln_args_get(args, option, NULL);
    if (word == NULL)
        return KILN_OK;
    if (strcmp(word, "strict") != 0 && strcmp(word, "fast") != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--numerics must be strict or fast, is '%s'",
                         kiln_str_printable(args->arena, kiln_str_from(word), 64));
    p->numerics =
        strcmp(word, "strict") == 0 ? KILN_NUMERICS_STRICT : KILN_NUMERICS_FAST;
    if (p->device != NULL) {
        KILN_ASSERT(p->device != p, "'%s' is its own device", p->name);
        kiln_profile *device = kiln_arena_dup(args->arena, p->device, sizeof *p);
        device->numerics = p->numerics;
        p->device = device;
    }
    return KILN_OK;
}

kiln_status kiln_cli_layouts(const kiln_cli_args *args, int option,
                             const kiln_net_chooser **out, kiln_err *err) {
    const char *name = kiln_args_get(args, option, NULL);
    kiln_buf names;
    *out = NULL;
    if (name == NULL)
        return KILN_OK;
    *out = kiln_net_chooser_find(kiln_str_from(name));
    if (*out != NULL && !(*out)->is_for_study)
        return KILN_OK;
    kiln_buf_init(&names, args->arena);
    for (int i = 0; kiln_net_chooser_at(i) != NULL; i++)
        if (!kiln_net_chooser_at(i)->is_for_study)
            kiln_buf_printf(&names, "%s%s", i > 0 ? " or " : "",
                            kiln_net_chooser_at(i)->name);
    return kiln_fail(err, KILN_ERR_ARG, "--layouts must be %s, is '%s'", names.p,
                     kiln_str_printable(args->arena, kiln_str_from(name), 64));
}

kiln_status kiln_cli_borrow(const kiln_cli_args *args, int runner, int priority,
                            const kiln_profile *p, int threads, kiln_far **out,
                            kiln_err *err) {
    kiln_arena *a = args->arena;
    kiln_far_options far = {.threads = threads};
    kiln_buf profile;
    KILN_TRY(
        kiln_known_address(a, kiln_args_get(args, runner, NULL), &far.address, err));
    KILN_TRY(kiln_cli_number(kiln_args_get(args, priority, "10"), "--priority", 1,
                             KILN_WIRE_MAX_PRIORITY, &far.priority, err));
    kiln_buf_init(&profile, a);
    if (p != NULL)
        kiln_profile_json(&profile, p);
    far.profile = profile.p;
    KILN_TRY(kiln_far_open(a, &far, out, err));
    return p == NULL
               ? KILN_OK
               : kiln_profile_fits_machine(p, threads, kiln_far_machine(*out), err);
}

kiln_status kiln_cli_device(const kiln_cli_args *args, int runner, int priority,
                            const char *path, const kiln_keyring *keys,
                            const kiln_device **out, kiln_err *err) {
    kiln_arena *a = args->arena;
    kiln_package_facts f;
    const kiln_profile *p = NULL;
    kiln_far *far = NULL;
    *out = NULL;
    if (!kiln_args_has(args, runner))
        return priority >= 0 && kiln_args_has(args, priority)
                   ? kiln_fail(err, KILN_ERR_ARG,
                               "--priority is said to the pool that --runner names")
                   : KILN_OK;
    if (kiln_cli_is_package(path)) {
        KILN_TRY(kiln_package_is_folder(path)
                     ? kiln_package_inspect_folder(a, path, &f, err)
                     : kiln_package_inspect_by(a, path, keys, &f, NULL, err));
        p = f.n_variants == 0 ? &f.profile : NULL;
    }
    KILN_TRY(kiln_cli_borrow(args, runner, priority, p, 1, &far, err));
    *out = kiln_remote_device_new(a, far);
    return KILN_OK;
}
