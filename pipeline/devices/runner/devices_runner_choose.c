/* Of a package for several shapes: the variant that the files of inputs are for. */
#include "pipeline/devices/runner/runner.h"

#include <string.h>

/* Does the variant take all of these files? What cannot be read says so later. */
static int takes(const run_options *o, const kiln_model *m) {
    for (int k = 0; k < o->n_inputs; k++) {
        kiln_port_info port;
        for (int i = 0; kiln_model_input(m, i, &port) == 0; i++) {
            const size_t n = strlen(port.name);
            if (strncmp(o->input[k], port.name, n) == 0 && o->input[k][n] == '=' &&
                !run_input_fits(&port, o->input[k] + n + 1))
                return 0;
        }
    }
    return 1;
}

static void list(const kiln_model *m, char *out, size_t room) {
    enum { TEXT = 128 };
    size_t n = 0;
    out[0] = '\0';
    for (int i = 0; i < kiln_model_n_variants(m); i++) {
        const kiln_model *v = kiln_model_variant(m, i);
        kiln_port_info port;
        for (int k = 0; kiln_model_input(v, k, &port) == 0 && n < room; k++) {
            char shape[TEXT];
            run_port_text(shape, sizeof shape, &port);
            const int more = snprintf(out + n, room - n, "%s%.64s %s",
                                      k > 0   ? ", "
                                      : i > 0 ? "; "
                                              : "",
                                      port.name, shape);
            n += more > 0 ? (size_t)more : 0;
        }
    }
}

run_exit run_choose(const run_options *o, const kiln_model *m, const kiln_model **out) {
    enum { TEXT = 2048 };
    char there[TEXT];
    const int n = kiln_model_n_variants(m);
    *out = m;
    for (int i = 0; i < n && n > 1; i++)
        if (takes(o, kiln_model_variant(m, i))) {
            *out = kiln_model_variant(m, i);
            return RUN_OK;
        }
    if (n == 1)
        return RUN_OK;
    list(m, there, sizeof there);
    return run_fail(RUN_INPUT, "'%s' was not built for such inputs; it was for: %s",
                    kiln_model_name(m), there);
}
