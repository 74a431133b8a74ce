/* The self-test: inputs, what the reference gives for them, and how far each element may
 * be off. */
#include "pipeline/csource/csource_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_float(kiln_dtype d) { return kiln_dtype_is_float(d); }

/* What is no number has no literal. `digits` of it, and an ending. */
static void put_real(kiln_buf *out, double v, int digits, const char *ending) {
    char text[40];
    if (isnan(v))
        kiln_buf_puts(out, "NOT_A_NUMBER");
    else if (isinf(v))
        kiln_buf_puts(out, v > 0 ? "INFINITE" : "-INFINITE");
    else {
        (void)snprintf(text, sizeof text, "%.*g", digits, v);
        kiln_buf_printf(out, "%s%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "",
                        ending);
    }
}

static void put_element(kiln_buf *out, kiln_dtype d, const kiln_wide *w, int64_t i) {
    if (d == KILN_F64)
        put_real(out, w->f[i], 17, "");
    else if (w->f != NULL)
        put_real(out, w->f[i], 9, "f");
    else if (d == KILN_U64)
        kiln_buf_printf(out, "%" PRIu64 "u", (uint64_t)w->i[i]);
    else if (w->i[i] == INT64_MIN)
        kiln_buf_puts(out, "INT64_MIN");
    else
        kiln_buf_printf(out, "%" PRId64, w->i[i]);
}

static void put_separator(kiln_buf *out, int64_t i) {
    kiln_buf_puts(out, i == 0 ? "\n    " : i % 8 == 0 ? ",\n    " : ", ");
}

static const char *aligned(const kiln_csource_writer *w) {
    return w->is_library ? " __attribute__((aligned(64)))" : "";
}

static void put_array(const kiln_csource_writer *w, const char *name,
                      const kiln_tensor *t, const char *type, kiln_buf *out) {
    kiln_wide wide = kiln_wide_new(w->arena, &t->type);
    const int64_t n = kiln_type_elems(&t->type);
    kiln_widen(&t->type, t->data, &wide);
    kiln_buf_printf(out, "static const %s %s[%" PRId64 "]%s = {", type, name,
                    n > 0 ? n : 1, aligned(w));
    for (int64_t i = 0; i < n; i++) {
        put_separator(out, i);
        put_element(out, t->type.dtype, &wide, i);
    }
    kiln_buf_puts(out, n > 0 ? "};\n" : "0};\n");
}

/* As kiln_tolerance says, where an output has no bounds of its own. */
static double bound_of(const kiln_wanted *o, const kiln_wide *want, int64_t n,
                       const kiln_tolerance *t, int64_t i) {
    double sum = 0;
    if (o->bound != NULL)
        return (double)o->bound[i];
    if (want->f == NULL)
        return 0;
    for (int64_t k = 0; k < n; k++)
        sum += want->f[k] * want->f[k];
    return t->relative * fabs(want->f[i]) + t->rms * sqrt(sum / (double)n) +
           t->absolute;
}

static void put_output(const kiln_csource_writer *w, const kiln_expectation *e,
                       size_t index, kiln_buf *out) {
    const kiln_wanted *o = &e->out[index];
    const kiln_net *net = w->n->net;
    const char *name = w->port[net->n_inputs + index];
    const kiln_net_port *port = &net->port.v[net->n_inputs + index];
    const int64_t n = kiln_type_elems(&o->value.type);
    kiln_wide want = kiln_wide_new(w->arena, &o->value.type);
    kiln_widen(&o->value.type, o->value.data, &want);
    kiln_buf_printf(out, "\nstatic %s output_%s[%" PRId64 "]%s;\n",
                    kiln_csource_port_type(port), name,
                    kiln_type_elems(&port->value->type), aligned(w));
    kiln_buf_printf(out, "/* Elements, what they must be, and how far off each may "
                         "be. */\n");
    kiln_buf_printf(out, "static const expected expected_%s[%" PRId64 "] = {", name,
                    n > 0 ? n : 1);
    for (int64_t i = 0; i < n; i++) {
        kiln_buf_puts(out, i == 0 ? "\n    " : i % 3 == 0 ? ",\n    " : ", ");
        kiln_buf_printf(out, "{%" PRId64 ", ", o->at != NULL ? o->at[i] : i);
        if (want.f != NULL)
            put_real(out, want.f[i], 17, "");
        else
            kiln_buf_printf(out, "%" PRId64 ".0", want.i[i]);
        kiln_buf_puts(out, ", ");
        put_real(out, bound_of(o, &want, n, &e->tolerance, i), 6, "");
        kiln_buf_puts(out, "}");
    }
    kiln_buf_puts(out, n > 0 ? "};\n" : "{0, 0, -1}};\n");
}

static const char head[] =
    "#if __STDC_HOSTED__\n"
    "#include <stdio.h>\n"
    "#endif\n\n"
    "typedef struct expected {\n"
    "    long at;\n    double value, bound; /* below 0: it may be anything */\n"
    "} expected;\n\n"
    "static double worst;\n"
    "static long n_wrong, n_held;\n\n"
    "static void check(double got, const expected *want) {\n"
    "    const double off = got > want->value ? got - want->value : want->value - "
    "got;\n"
    "    const int is_nan = got != got && want->value != want->value;\n"
    "    if (want->bound < 0)\n"
    "        return;\n"
    "    n_held++;\n"
    "    if (is_nan || got == want->value)\n"
    "        return;\n"
    "    if (!(off <= want->bound))\n"
    "        n_wrong++;\n"
    "    if (!(off <= worst))\n"
    "        worst = off;\n"
    "}\n";

static bool has_special(const kiln_csource_writer *w, const kiln_tensor *t) {
    kiln_wide wide = kiln_wide_new(w->arena, &t->type);
    if (!is_float(t->type.dtype))
        return false;
    kiln_widen(&t->type, t->data, &wide);
    for (int64_t i = 0; i < kiln_type_elems(&t->type); i++)
        if (!isfinite(wide.f[i]))
            return true;
    return false;
}

/* Neither is a constant without the library: they are made of ones that are. */
static void put_special(const kiln_csource_writer *w, const kiln_expectation *e,
                        kiln_buf *out) {
    bool found = false;
    for (size_t i = 0; i < e->n_in; i++)
        found = found || has_special(w, &e->in[i]);
    for (size_t i = 0; i < e->n_out; i++)
        found = found || has_special(w, &e->out[i].value);
    if (found)
        kiln_buf_puts(out, "\n#define INFINITE (1.0f / 0.0f)\n"
                           "#define NOT_A_NUMBER (0.0f / 0.0f)\n");
}

static void put_main(const kiln_csource_writer *w, const kiln_expectation *e,
                     kiln_buf *out) {
    const kiln_net *n = w->n->net;
    kiln_buf_printf(out,
                    "\nstatic union {\n    double aligned;\n"
                    "    unsigned char bytes[%s_WORKSPACE_BYTES + 64];\n"
                    "} workspace%s;\n\n"
                    "/* 0: all is as it must be, and nothing was written behind the "
                    "workspace. */\n"
                    "int main(void) {\n"
                    "    for (long i = 0; i < 64; i++)\n"
                    "        workspace.bytes[%s_WORKSPACE_BYTES + i] = 0xA5;\n"
                    "    %s%s_run(",
                    w->upper, aligned(w), w->upper, w->is_library ? "n_wrong += " : "",
                    w->name);
    for (size_t i = 0; i < n->port.n; i++)
        kiln_buf_printf(out, "%s_%s, ", i < n->n_inputs ? "input" : "output",
                        w->port[i]);
    kiln_buf_puts(out, "workspace.bytes);\n");
    for (size_t i = 0; i < e->n_out; i++) {
        const char *name = w->port[n->n_inputs + i];
        if (kiln_type_elems(&e->out[i].value.type) == 0)
            continue;
        kiln_buf_printf(out,
                        "    for (long i = 0; i < %" PRId64 "; i++)\n"
                        "        check((double)output_%s[expected_%s[i].at], "
                        "&expected_%s[i]);\n",
                        kiln_type_elems(&e->out[i].value.type), name, name, name);
    }
    kiln_buf_printf(out,
                    "    for (long i = 0; i < 64; i++)\n"
                    "        n_wrong += workspace.bytes[%s_WORKSPACE_BYTES + i] != "
                    "0xA5;\n"
                    "#if __STDC_HOSTED__\n"
                    "    printf(\"%s: %%ld elements, %%ld wrong, largest error "
                    "%%g\\n\", n_held, n_wrong, worst);\n"
                    "#endif\n"
                    "    return n_wrong != 0;\n}\n",
                    w->upper, w->name);
}

void kiln_csource_put_selftest(const kiln_csource_writer *w, const kiln_expectation *e,
                               kiln_buf *out) {
    const kiln_net *n = w->n->net;
    kiln_csource_put_head(w, "its self-test", out);
    kiln_buf_printf(out, "#include \"%s.h\"\n\n%s", w->name, head);
    put_special(w, e, out);
    for (size_t i = 0; i < e->n_in; i++) {
        kiln_buf_puts(out, "\n");
        put_array(w, kiln_format(w->arena, "input_%s", w->port[i]), &e->in[i],
                  kiln_csource_port_type(&n->port.v[i]), out);
    }
    for (size_t i = 0; i < e->n_out; i++)
        put_output(w, e, i, out);
    put_main(w, e, out);
}
