/* The table of devices. */
#include <stdio.h>
#include <string.h>

#include "pipeline/devices/devices_internal.h"

#define KILN_DEVICE(name) extern const kiln_device kiln_device_##name;
#include "pipeline/devices/devices.def"
#undef KILN_DEVICE

static const kiln_device *const devices[] = {
#define KILN_DEVICE(name) &kiln_device_##name,
#include "pipeline/devices/devices.def"
#undef KILN_DEVICE
};
enum { N_DEVICES = sizeof devices / sizeof devices[0] };

const kiln_device *kiln_device_at(int i) {
    return i >= 0 && i < N_DEVICES ? devices[i] : NULL;
}

kiln_status kiln_device_find(const char *name, const kiln_device **out, kiln_err *err) {
    char names[256] = "";
    for (int i = 0; i < N_DEVICES; i++) {
        if (strcmp(devices[i]->name, name) == 0) {
            *out = devices[i];
            return KILN_OK;
        }
        const size_t at = strlen(names);
        snprintf(names + at, sizeof names - at, "%s%s", i > 0 ? ", " : "",
                 devices[i]->name);
    }
    return kiln_fail(err, KILN_ERR_ARG, "there is no device '%s'; there are %s", name,
                     names);
}

kiln_status kiln_device_find_for(kiln_arena *a, const kiln_device *where,
                                 const kiln_profile *p, const kiln_device **out,
                                 kiln_err *err) {
    const int n = where != NULL ? 1 : N_DEVICES;
    kiln_buf why;
    kiln_buf_init(&why, a);
    for (int i = 0; i < n; i++) {
        const kiln_device *d = where != NULL ? where : devices[i];
        const char *missing = "";
        if (d->can_run(d, a, p, &missing)) {
            *out = d;
            return KILN_OK;
        }
        kiln_buf_printf(&why, "%s%s: %s", i > 0 ? "; " : "", d->name, missing);
    }
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "no device runs code for profile '%s' (%.*s)", p->name,
                     KILN_STR_ARG(kiln_buf_str(&why)));
}

/* The device that the profile names; as it was where it names none. */
static kiln_status named_device(const kiln_profile *p, const kiln_device **out,
                                kiln_err *err) {
    if (p->measure == NULL)
        return KILN_OK;
    const kiln_status st = kiln_device_find(p->measure, out, err);
    if (st != KILN_OK)
        kiln_note(err, "looking for where profile '%s' is measured", p->name);
    return st;
}

kiln_status kiln_device_measures_here(const kiln_profile *p, kiln_err *err) {
    const kiln_device *d = &kiln_device_local;
    KILN_TRY(named_device(p, &d, err));
    if (d != &kiln_device_local)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "profile '%s' is measured on device '%s', not on this "
                         "machine: 'measure' of the profile says so",
                         p->name, d->name);
    return KILN_OK;
}

kiln_status kiln_device_judge_for(kiln_arena *a, const kiln_profile *p,
                                  const kiln_device **out, kiln_err *err) {
    const kiln_device *d = NULL;
    const char *missing = "";
    KILN_TRY(named_device(p, &d, err));
    if (d == NULL)
        return kiln_device_find_for(a, NULL, p, out, err);
    if (!d->can_run(d, a, p, &missing))
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "profile '%s' is measured on device '%s', which cannot run it "
                         "here: %s",
                         p->name, d->name, missing);
    *out = d;
    return KILN_OK;
}
