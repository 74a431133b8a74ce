/* What a model says about itself where no graph can be made of it: symbols in place of
 * sizes, operators as the file calls them, and shapes that import. */
#include "cli/model/verb_survey.h"

#include <inttypes.h>
#include <string.h>

enum { SHOWN_BYTES = 200 }; /* of a name */

static const char *shown(kiln_arena *a, const char *name) {
    return kiln_str_printable(a, kiln_str_from(name), SHOWN_BYTES);
}

/* ---- text ------------------------------------------------------------------------ */

/* "f32[batch,3,?,?]" */
static void put_type(kiln_buf *out, const kiln_declared_input *d) {
    KILN_ASSERT(d->has_type || d->what != NULL, "'%s' is of no kind", d->name);
    kiln_buf_puts(out, d->has_type ? kiln_dtype_name(d->dtype) : d->what);
    kiln_buf_puts(out, d->rank < 0 ? " of any shape" : "[");
    for (int k = 0; k < d->rank; k++) {
        kiln_buf_puts(out, k > 0 ? "," : "");
        if (d->dim[k] >= 0)
            kiln_buf_printf(out, "%" PRId64, d->dim[k]);
        else
            kiln_buf_puts(out, d->symbol[k] != NULL ? d->symbol[k] : "?");
    }
    kiln_buf_puts(out, d->rank < 0 ? "" : "]");
}

static void text_values(kiln_buf *out, const char *what, const kiln_declared_input *d,
                        size_t n) {
    for (size_t i = 0; i < n; i++) {
        kiln_buf_printf(out, "%-16s %s: ", i == 0 ? what : "",
                        shown(out->arena, d[i].name));
        put_type(out, &d[i]);
        kiln_buf_puts(out, "\n");
    }
}

static const char *shape_word(kiln_arena *a, const kiln_shape_binding *b) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    kiln_buf_printf(&text, "%s:", b->name);
    for (int k = 0; k < b->rank; k++)
        kiln_buf_printf(&text, "%s%" PRId64, k > 0 ? "x" : "", b->dim[k]);
    return text.p;
}

static const char *setting_word(kiln_arena *a, const kiln_suggested_setting *b) {
    return kiln_format(a, "%s=%" PRId64, b->name, b->value);
}

static void put_option(kiln_buf *command, const char *option, const char *value) {
    kiln_buf_put_word(command, option);
    kiln_buf_put_word(command, shown(command->arena, value));
}

/* What the user gave and what was found, as one command. */
static void put_command(kiln_buf *out, const kiln_cli_survey *s) {
    KILN_ASSERT(s->suggestion != NULL, "a command of what was not suggested");
    kiln_buf command;
    kiln_buf_init(&command, out->arena);
    kiln_buf_puts(&command, "kiln inspect");
    kiln_buf_put_word(&command, shown(out->arena, s->path));
    for (size_t i = 0; i < s->n_shapes; i++)
        put_option(&command, "--shape", s->shape[i]);
    for (size_t i = 0; i < s->n_binds; i++)
        put_option(&command, "--bind", s->bind[i]);
    for (size_t i = 0; i < s->suggestion->n; i++)
        put_option(&command, "--shape",
                   shape_word(out->arena, &s->suggestion->shape[i]));
    for (size_t i = 0; i < s->suggestion->n_settings; i++)
        put_option(&command, "--bind",
                   setting_word(out->arena, &s->suggestion->setting[i]));
    kiln_buf_printf(out, "%-16s %s\n", "", command.p);
}

static void text_suggestion(kiln_buf *out, const kiln_cli_survey *s) {
    const kiln_suggestion *g = s->suggestion;
    if (g->is_found) {
        kiln_buf_printf(out,
                        "%-16s sizes must be given; with these the model imports "
                        "(found by trying %d):\n",
                        "shapes", g->n_tried);
        put_command(out, s);
        for (size_t i = 0; i < g->n_settings; i++)
            kiln_buf_printf(out,
                            "%-16s '%s' has no shape and the name of what training "
                            "sets: fixed, it is no input any more; an input of one "
                            "number is --shape %s:\n",
                            "", shown(out->arena, g->setting[i].name),
                            shown(out->arena, g->setting[i].name));
        return;
    }
    kiln_str rest = kiln_str_from(g->reason), line;
    kiln_buf_printf(out,
                    "%-16s sizes must be given by --shape; none of %d that were tried "
                    "import, the best of them so:\n",
                    "shapes", g->n_tried);
    while (kiln_str_cut(&rest, '\n', &line))
        kiln_buf_printf(out, "%-16s %.*s\n", "", KILN_STR_ARG(line));
}

const char *kiln_cli_versions(kiln_arena *a, int64_t ir_version, int64_t opset) {
    if (ir_version == 0 && opset == 0)
        return "";
    if (opset == 0) /* only ONNX has operators of a version of their own */
        return kiln_format(a, ", version %" PRId64, ir_version);
    return kiln_format(a, ", IR %" PRId64 ", opset %" PRId64, ir_version, opset);
}

void kiln_cli_text_notes(kiln_buf *out, const kiln_import_report *report) {
    for (size_t i = 0; i < report->notes.n; i++)
        kiln_buf_printf(out, "%-16s %s: %s\n", i == 0 ? "notes" : "",
                        report->notes.v[i].about, report->notes.v[i].text);
}

static void write_text(const kiln_cli_survey *s, kiln_buf *out) {
    const kiln_model_survey *m = &s->model;
    kiln_buf_printf(out, "%-16s %s (%s%s%s%s)\n", "model", s->path, m->format,
                    kiln_cli_versions(out->arena, m->ir_version, m->opset),
                    m->producer[0] != '\0' ? ", by " : "", m->producer);
    for (size_t i = 0; i < s->report->unsupported.n; i++) {
        const kiln_unsupported *u = &s->report->unsupported.v[i];
        kiln_buf_printf(out, "%-16s %s: %" PRId64 " node%s, first '%s'\n",
                        i == 0 ? "unsupported" : "", u->op, u->count,
                        kiln_plural(u->count), u->first_node);
    }
    text_values(out, "inputs", m->input, m->n_inputs);
    text_values(out, "outputs", m->output, m->n_outputs);
    kiln_buf_printf(out, "%-16s %" PRId64 "\n", "nodes", m->n_nodes);
    for (size_t i = 0; i < m->op.n; i++)
        kiln_buf_printf(out, "%-16s %-20s %" PRId64 "%s\n", i == 0 ? "operators" : "",
                        m->op.v[i].op, m->op.v[i].count,
                        m->op.v[i].is_read ? "" : " (not read)");
    kiln_buf_printf(out, "%-16s %" PRId64 " (%" PRId64 " bytes of constants)\n",
                    "parameters", m->n_params, m->const_bytes);
    kiln_cli_text_notes(out, s->report);
    if (s->suggestion != NULL)
        text_suggestion(out, s);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void json_values(kiln_json_writer *w, const char *key,
                        const kiln_declared_input *d, size_t n) {
    kiln_json_name(w, key);
    kiln_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", d[i].name);
        if (d[i].has_type)
            kiln_json_member_str(w, "dtype", kiln_dtype_name(d[i].dtype));
        if (d[i].rank >= 0) {
            kiln_json_name(w, "shape");
            kiln_json_begin_row(w);
        }
        for (int k = 0; k < d[i].rank; k++) {
            if (d[i].dim[k] >= 0)
                kiln_json_put_i64(w, d[i].dim[k]);
            else
                kiln_json_put_string(
                    w, kiln_str_from(d[i].symbol[k] != NULL ? d[i].symbol[k] : "?"));
        }
        if (d[i].rank >= 0)
            kiln_json_end_array(w);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

static void json_suggestion(kiln_json_writer *w, kiln_arena *a,
                            const kiln_suggestion *g) {
    kiln_json_name(w, "suggestion");
    kiln_json_begin_object(w);
    kiln_json_member_i64(w, "tried", g->n_tried);
    kiln_json_name(w, "shapes");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < g->n; i++)
        kiln_json_put_string(w, kiln_str_from(shape_word(a, &g->shape[i])));
    kiln_json_end_array(w);
    kiln_json_name(w, "binds");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < g->n_settings; i++)
        kiln_json_put_string(w, kiln_str_from(setting_word(a, &g->setting[i])));
    kiln_json_end_array(w);
    if (!g->is_found)
        kiln_json_member_str(w, "reason", g->reason);
    kiln_json_end_object(w);
}

void kiln_cli_put_notes(kiln_json_writer *w, const kiln_import_report *report) {
    if (report->notes.n == 0)
        return;
    kiln_json_name(w, "notes");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < report->notes.n; i++) {
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "about", report->notes.v[i].about);
        kiln_json_member_str(w, "text", report->notes.v[i].text);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

void kiln_cli_put_unsupported(kiln_json_writer *w, const kiln_import_report *report) {
    kiln_json_name(w, "unsupported");
    kiln_json_begin_array(w);
    for (size_t i = 0; i < report->unsupported.n; i++) {
        const kiln_unsupported *u = &report->unsupported.v[i];
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "op", u->op);
        kiln_json_member_i64(w, "count", u->count);
        kiln_json_member_str(w, "first_node", u->first_node);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

static void write_json(const kiln_cli_survey *s, kiln_json_writer *w, kiln_arena *a) {
    const kiln_model_survey *m = &s->model;
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "model", s->path);
    kiln_json_member_str(w, "format", m->format);
    kiln_json_member_str(w, "producer", m->producer);
    kiln_json_member_i64(w, "ir_version", m->ir_version);
    kiln_json_member_i64(w, "opset", m->opset);
    kiln_json_member_bool(w, "dynamic", s->suggestion != NULL);
    kiln_cli_put_unsupported(w, s->report);
    json_values(w, "inputs", m->input, m->n_inputs);
    json_values(w, "outputs", m->output, m->n_outputs);
    kiln_json_member_i64(w, "nodes", m->n_nodes);
    kiln_json_name(w, "onnx_operators");
    kiln_json_begin_object(w);
    for (size_t i = 0; i < m->op.n; i++)
        kiln_json_member_i64(w, m->op.v[i].op, m->op.v[i].count);
    kiln_json_end_object(w);
    kiln_json_member_i64(w, "parameters", m->n_params);
    kiln_json_member_i64(w, "constant_bytes", m->const_bytes);
    kiln_cli_put_notes(w, s->report);
    if (s->suggestion != NULL)
        json_suggestion(w, a, s->suggestion);
    kiln_json_end_object(w);
}

void kiln_cli_survey_put(const kiln_cli_survey *s, kiln_cli_answer *answer) {
    write_json(s, &answer->w, answer->json.arena);
    write_text(s, &answer->text);
}
