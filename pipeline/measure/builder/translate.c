/* A GPU's driver compiles modules into its own machine code. Many builders do so at once,
 * ahead of the measurement: else the one process that measures would, one after another.
 * Where that is not possible the module goes as it is, and that process does. */
#include "pipeline/measure/builder/builder_internal.h"
#include "compiler/target/target.h"

static const kiln_device_kind *kind_of(const kiln_profile *p) {
    const char *name = kiln_profile_is_gpu(p) ? kiln_arch_of(p->arch)->device : NULL;
    return name != NULL ? kiln_device_kind_named(name, NULL, 0) : NULL;
}

static bool translates(const kiln_device_kind *k) {
    return k != NULL && k->translate != NULL;
}

bool kiln_translator_is_wanted(const kiln_profile *p) { return translates(kind_of(p)); }

bool kiln_translator_open(kiln_translator *t, const kiln_profile *p) {
    char error[KILN_ERROR_TEXT] = "";
    const kiln_device_kind *k = kind_of(p);
    if (t->has_tried || !translates(k))
        return false;
    t->has_tried = true;
    kiln_allocator allocator;
    kiln_allocator_default(&allocator);
    if (k->open(&allocator, &t->device, error) == 0)
        return true;
    t->device = NULL;
    KILN_LOG(INFO, "builder", "who measures will have the driver compile: %s", error);
    return true;
}

kiln_str kiln_translate(const kiln_translator *t, kiln_arena *a, kiln_str module) {
    const kiln_device_image image = {.bytes = module.p, .n = module.n};
    char error[KILN_ERROR_TEXT] = "";
    void *bytes = NULL;
    size_t n = 0;
    if (t->device == NULL)
        return module;
    const kiln_allocator *own = &t->device->allocator;
    if (t->device->kind->translate(t->device, &image, &bytes, &n, error) != 0) {
        KILN_LOG(DEBUG, "builder", "%s", error); /* who measures will find it too */
        return module;
    }
    const kiln_str out = {kiln_arena_dup(a, bytes, n), n};
    own->release(own->user, bytes);
    return out;
}

void kiln_translator_close(kiln_translator *t) {
    if (t->device != NULL)
        t->device->kind->close(t->device);
    t->device = NULL;
}
