/* The model that a package was built from, read again as it was read then. */
#include "pipeline/package/package.h"
#include "pipeline/golden.h"

#include <string.h>

/* Is the package's input a state that the model has with --state alone? An output goes on
 * with it, and the file declares no such input. */
static bool is_state(const kiln_device_package *p, const char *name,
                     const kiln_declared_input *declared, size_t n) {
    bool goes_on = false;
    for (size_t i = 0; i < p->n_outputs; i++)
        goes_on = goes_on || kiln_golden_begins(name, &p->output[i].name, 1);
    for (size_t i = 0; i < n; i++)
        goes_on = goes_on && strcmp(declared[i].name, name) != 0;
    return goes_on;
}

/* Dynamic dimensions are what the package was built for. Where the import fails, the
 * file's hash is known. */
static kiln_status read_model(kiln_arena *a, const kiln_opened *opened,
                              const char *model, const kiln_fixed_inputs *fixed,
                              kiln_source *out, kiln_err *err) {
    const kiln_device_package *const p = &opened->package;
    kiln_shape_binding *shape = kiln_array(a, kiln_shape_binding, p->n_inputs);
    kiln_import_options o = {.shapes = shape,
                             .values = fixed->value,
                             .n_values = fixed->n,
                             .as_reference = opened->facts.as_reference};
    kiln_declared_input *declared = NULL;
    size_t n = 0;
    for (size_t i = 0; i < p->n_inputs; i++) {
        if (is_state(p, p->input[i].name, NULL, 0) && declared == NULL) {
            const char *path = NULL;
            KILN_TRY(kiln_source_path(a, model, &path, err));
            KILN_TRY(kiln_import_inputs(a, path, &declared, &n, err));
        }
        if (is_state(p, p->input[i].name, declared, n)) {
            o.has_state = true;
            continue;
        }
        kiln_shape_binding *const s = &shape[o.n_shapes++];
        *s = (kiln_shape_binding){.name = p->input[i].name,
                                  .rank = p->input[i].type.rank};
        memcpy(s->dim, p->input[i].type.dim, sizeof s->dim);
    }
    return kiln_source_read(a, model, &o, out, err);
}

/* ---- fixed inputs ---------------------------------------------------------------- */

static const char *printable(kiln_arena *a, const char *name) {
    return kiln_str_printable(a, kiln_str_from(name), 64);
}

static kiln_status check_value(kiln_arena *a, const kiln_package_fixed *was,
                               const kiln_fixed_inputs *fixed, kiln_err *err) {
    for (size_t i = 0; i < fixed->n; i++) {
        const kiln_package_fixed is =
            kiln_package_fixed_of(a, fixed->value[i].name, &fixed->value[i].value);
        if (strcmp(is.name, was->name) != 0)
            continue;
        if (strcmp(is.type, was->type) == 0 && strcmp(is.sha256, was->sha256) == 0)
            return KILN_OK;
        return kiln_fail(err, KILN_ERR_ARG,
                         "input '%s' was fixed to another value when the package was "
                         "built (%s, SHA-256 %s)",
                         printable(a, was->name), printable(a, was->type), was->sha256);
    }
    return kiln_fail(err, KILN_ERR_ARG,
                     "the package was built with input '%s' fixed to a value (%s): "
                     "give the same by --bind",
                     printable(a, was->name), printable(a, was->type));
}

/* Each once and no other: a name that comes twice, or is none of the model's inputs, is
 * the import's to refuse. */
static kiln_status check_fixed(kiln_arena *a, const kiln_package_facts *f,
                               const kiln_fixed_inputs *fixed, kiln_err *err) {
    for (size_t i = 0; i < f->n_fixed; i++)
        KILN_TRY(check_value(a, &f->fixed[i], fixed, err));
    for (size_t i = 0; i < fixed->n && fixed->n > f->n_fixed; i++) {
        bool was = false;
        for (size_t k = 0; k < f->n_fixed; k++)
            was = was || strcmp(f->fixed[k].name, fixed->value[i].name) == 0;
        if (!was)
            return kiln_fail(err, KILN_ERR_ARG,
                             "the package was built without a value for input '%s': "
                             "leave its --bind away",
                             printable(a, fixed->value[i].name));
    }
    return KILN_OK;
}

/* ---- inputs and outputs ---------------------------------------------------------- */

static const char *text_of(kiln_arena *a, const char *name, const kiln_type *t) {
    return kiln_format(a, "'%s' %s", printable(a, name), kiln_type_text(a, t));
}

static kiln_status check_ports(kiln_arena *a, const char *model, const char *what,
                               const kiln_device_port *port, size_t n,
                               kiln_value *const *value, const char *const *name,
                               size_t n_values, kiln_err *err) {
    if (n != n_values)
        return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                         "the package has %zu %ss, '%s' has %zu: it was built with "
                         "other options",
                         n, what, model, n_values);
    for (size_t i = 0; i < n; i++) {
        const kiln_type *t = &value[i]->type;
        const char *own = name != NULL ? name[i] : value[i]->name;
        if (strcmp(own, port[i].name) != 0 || t->dtype != port[i].type.dtype ||
            !kiln_type_same_shape(t, &port[i].type))
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "%s %zu of the package is %s, of '%s' it is %s: it was "
                             "built with other options",
                             what, i, text_of(a, port[i].name, &port[i].type), model,
                             text_of(a, own, t));
    }
    return KILN_OK;
}

kiln_status kiln_package_check_fixed(kiln_arena *a, const kiln_package_facts *f,
                                     const kiln_value_binding *value, kiln_err *err) {
    const kiln_fixed_inputs fixed = {value, 1};
    for (size_t i = 0; i < f->n_fixed; i++)
        if (strcmp(f->fixed[i].name,
                   kiln_package_fixed_of(a, value->name, &value->value).name) == 0)
            return check_value(a, &f->fixed[i], &fixed, err);
    return kiln_fail(err, KILN_ERR_ARG,
                     "the package was built without a value for input '%s': leave its "
                     "--bind away",
                     printable(a, value->name));
}

kiln_status kiln_package_source(kiln_arena *a, const kiln_opened *p, const char *model,
                                const kiln_fixed_inputs *fixed, kiln_source *out,
                                kiln_err *err) {
    const kiln_device_package *k = &p->package;
    kiln_source s = {.name = NULL};
    const kiln_status st = read_model(a, p, model, fixed, &s, err);
    if (s.sha256[0] != '\0' && strcmp(s.sha256, p->facts.source_sha256) != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "the package was built from a file with SHA-256 %s, '%s' has "
                         "%s",
                         p->facts.source_sha256, model, s.sha256);
    if (s.sha256[0] != '\0')
        KILN_TRY(check_fixed(a, &p->facts, fixed, err));
    if (st != KILN_OK)
        return st;
    const kiln_graph *g = s.imported;
    KILN_TRY(check_ports(a, model, "input", k->input, k->n_inputs, g->inputs.v, NULL,
                         g->inputs.n, err));
    KILN_TRY(check_ports(a, model, "output", k->output, k->n_outputs, g->outputs.v,
                         g->output_names.v, g->outputs.n, err));
    *out = s;
    return KILN_OK;
}
