/* What a file says of its inputs and outputs for people: the flatbuffer TFLITE_METADATA
 * in one of its buffers, and the files (lists of labels) in an archive behind its last
 * byte. Nothing of it changes what the network computes, so that what is damaged becomes
 * a note too. Source: TensorFlow Lite Support, metadata_schema.fbs, 1.5. */
#include "compiler/frontend/tflite/tflite_internal.h"

#include <inttypes.h>
#include <string.h>

#include "compiler/frontend/tflite/tflite_tables.h"
#include "compiler/frontend/zip.h"

enum {
    SHOWN_BYTES = 120, /* of a name or a text */
    MAX_NOTES = 64,
    MAX_NUMBERS = 4, /* of means and deviations: one for each channel */
    NORMALIZATION = 1,
    IMAGE = 2, /* of ContentProperties */
    AUDIO = 4
};

typedef struct file { /* AssociatedFile */
    kiln_str name, description;
    int64_t type;
} file;

typedef struct unit { /* ProcessUnit */
    int64_t options_type;
    kiln_fb_ref options;
} unit;

typedef struct normalization { /* NormalizationOptions */
    const float *mean, *std;
    size_t n_mean, n_std;
} normalization;

typedef struct content { /* Content */
    int64_t properties_type;
    kiln_fb_ref properties;
} content;

typedef struct image { /* ImageProperties */
    int64_t color_space;
} image;

typedef struct tensor { /* TensorMetadata */
    kiln_str name, description;
    const content *content;
    const unit *process_units;
    size_t n_process_units;
    const file *associated_files;
    size_t n_associated_files;
} tensor;

typedef struct subgraph { /* SubGraphMetadata */
    const tensor *input, *output;
    size_t n_input, n_output;
} subgraph;

typedef struct model { /* ModelMetadata */
    kiln_str name, description, version, author, license;
    const subgraph *subgraph;
    size_t n_subgraph;
    const file *associated_files;
    size_t n_associated_files;
} model;

static const kiln_fb_field file_fields[] = {
    FIELD(0, file, name, KILN_FB_STRING),
    FIELD(1, file, description, KILN_FB_STRING),
    FIELD(2, file, type, KILN_FB_I8),
};
static const kiln_fb_table file_table = TABLE("AssociatedFile", file, file_fields);

static const kiln_fb_field normalization_fields[] = {
    LIST(0, normalization, mean, KILN_FB_F32S),
    LIST(1, normalization, std, KILN_FB_F32S),
};
static const kiln_fb_table normalization_table =
    TABLE("NormalizationOptions", normalization, normalization_fields);

static const kiln_fb_field unit_fields[] = {
    FIELD(0, unit, options_type, KILN_FB_U8),
    FIELD(1, unit, options, KILN_FB_REF),
};
static const kiln_fb_table unit_table = TABLE("ProcessUnit", unit, unit_fields);

static const kiln_fb_field content_fields[] = {
    FIELD(0, content, properties_type, KILN_FB_U8),
    FIELD(1, content, properties, KILN_FB_REF),
};
static const kiln_fb_table content_table = TABLE("Content", content, content_fields);

static const kiln_fb_field image_fields[] = {
    FIELD(0, image, color_space, KILN_FB_I8),
};
static const kiln_fb_table image_table = TABLE("ImageProperties", image, image_fields);

static const kiln_fb_field tensor_fields[] = {
    FIELD(0, tensor, name, KILN_FB_STRING),
    FIELD(1, tensor, description, KILN_FB_STRING),
    SUB(3, tensor, content, content_table),
    SUBS(4, tensor, process_units, unit_table),
    SUBS(6, tensor, associated_files, file_table),
};
static const kiln_fb_table tensor_table =
    TABLE("TensorMetadata", tensor, tensor_fields);

static const kiln_fb_field subgraph_fields[] = {
    SUBS(2, subgraph, input, tensor_table),
    SUBS(3, subgraph, output, tensor_table),
};
static const kiln_fb_table subgraph_table =
    TABLE("SubGraphMetadata", subgraph, subgraph_fields);

static const kiln_fb_field model_fields[] = {
    FIELD(0, model, name, KILN_FB_STRING),
    FIELD(1, model, description, KILN_FB_STRING),
    FIELD(2, model, version, KILN_FB_STRING),
    SUBS(3, model, subgraph, subgraph_table),
    FIELD(4, model, author, KILN_FB_STRING),
    FIELD(5, model, license, KILN_FB_STRING),
    SUBS(6, model, associated_files, file_table),
};
static const kiln_fb_table model_table = TABLE("ModelMetadata", model, model_fields);

/* ---- notes ------------------------------------------------------------------------ */

typedef struct reading {
    kiln_tflite_cx *cx;
    kiln_fb fb;   /* of the metadata */
    kiln_buf now; /* text of the note that is being made; parts are joined by "; " */
} reading;

static const char *show(const reading *r, kiln_str text) {
    return kiln_str_printable(r->cx->common.arena, text, SHOWN_BYTES);
}

static void add_note(kiln_tflite_cx *cx, const char *about, const char *text) {
    const kiln_model_note note = {about, text};
    if (cx->report->notes.n < MAX_NOTES)
        kiln_vec_push(cx->common.arena, &cx->report->notes, note);
}

static void part(reading *r) { kiln_buf_puts(&r->now, r->now.n == 0 ? "" : "; "); }

static void begin(reading *r) { kiln_buf_init(&r->now, &r->cx->common.scratch); }

static void end(reading *r, const char *about) {
    if (r->now.n > 0)
        add_note(r->cx, about,
                 kiln_str_dup(r->cx->common.arena, kiln_buf_str(&r->now).p));
}

static void put_text(reading *r, const char *what, kiln_str text) {
    if (text.n == 0)
        return;
    part(r);
    kiln_buf_printf(&r->now, "%s%s", what, show(r, text));
}

static void put_numbers(reading *r, const char *what, const float *v, size_t n) {
    kiln_buf_puts(&r->now, what);
    for (size_t i = 0; i < n && i < MAX_NUMBERS; i++)
        kiln_buf_printf(&r->now, "%s%g", i == 0 ? " " : ", ", (double)v[i]);
    kiln_buf_puts(&r->now, n > MAX_NUMBERS ? ", ..." : "");
}

/* ---- files ------------------------------------------------------------------------ */

static const char *file_kind(int64_t type) {
    static const char *const kinds[] = {"file",
                                        "descriptions",
                                        "labels of an axis",
                                        "labels of values",
                                        "calibration",
                                        "vocabulary",
                                        "index"};
    return type >= 0 && type < (int64_t)(sizeof kinds / sizeof kinds[0]) ? kinds[type]
                                                                         : kinds[0];
}

/* "labels of an axis: labels.txt, 1001 lines, first 'background'" */
static void put_file(reading *r, const file *f) {
    kiln_zip_entry e;
    uint64_t at = 0;
    part(r);
    kiln_buf_printf(&r->now, "%s: %s", file_kind(f->type), show(r, f->name));
    while (kiln_zip_next(r->cx->fb.bytes, &at, &e)) {
        if (!kiln_str_eq(e.name, f->name))
            continue;
        kiln_str rest = kiln_str_trim(e.bytes), line, first = {NULL, 0};
        size_t n = 0;
        for (; kiln_str_cut(&rest, '\n', &line); n++)
            first = n == 0 ? line : first;
        if (!e.is_stored || e.bytes.p == NULL)
            kiln_buf_puts(&r->now, e.is_stored ? " (damaged)" : " (packed)");
        else
            kiln_buf_printf(&r->now, ", %zu line%s, first '%s'", n, n == 1 ? "" : "s",
                            show(r, kiln_str_trim(first)));
        return;
    }
    kiln_buf_puts(&r->now, " (not in the file)");
}

/* ---- tensors ---------------------------------------------------------------------- */

static kiln_status put_content(reading *r, const content *c) {
    static const char *const colors[] = {"of unknown colours", "RGB", "grayscale"};
    image i = {0};
    if (c == NULL)
        return KILN_OK;
    if (c->properties_type == AUDIO) {
        part(r);
        kiln_buf_puts(&r->now, "audio");
    }
    if (c->properties_type != IMAGE)
        return KILN_OK;
    KILN_TRY(kiln_fb_at(&r->fb, c->properties, &image_table, &i));
    part(r);
    kiln_buf_printf(
        &r->now, "image, %s",
        colors[i.color_space == 1 || i.color_space == 2 ? i.color_space : 0]);
    return KILN_OK;
}

static kiln_status put_unit(reading *r, const unit *u) {
    normalization n = {0};
    if (u->options_type != NORMALIZATION)
        return KILN_OK;
    KILN_TRY(kiln_fb_at(&r->fb, u->options, &normalization_table, &n));
    part(r);
    put_numbers(r, "normalised: (x - mean) / deviation, mean", n.mean, n.n_mean);
    put_numbers(r, ", deviation", n.std, n.n_std);
    return KILN_OK;
}

static kiln_status put_tensor(reading *r, const tensor *t, bool is_input, size_t i) {
    const kiln_tflite_subgraph *const g = r->cx->g;
    if (i >= (is_input ? g->n_input : g->n_output))
        return KILN_OK;
    begin(r);
    put_text(r, "", t->name);
    put_text(r, "", t->description);
    KILN_TRY(put_content(r, t->content));
    for (size_t k = 0; k < t->n_process_units; k++)
        KILN_TRY(put_unit(r, &t->process_units[k]));
    for (size_t k = 0; k < t->n_associated_files; k++)
        put_file(r, &t->associated_files[k]);
    const char *const port =
        kiln_tflite_port_name(&r->cx->common.scratch, g, is_input, i);
    end(r, kiln_format(r->cx->common.arena, "%s '%s'", is_input ? "input" : "output",
                       show(r, kiln_str_from(port))));
    return KILN_OK;
}

static kiln_status put_model(reading *r) {
    model m;
    KILN_TRY(kiln_fb_root(&r->fb, &model_table, &m));
    begin(r);
    put_text(r, "", m.name);
    put_text(r, "version ", m.version);
    put_text(r, "by ", m.author);
    put_text(r, "licence: ", m.license);
    put_text(r, "", m.description);
    for (size_t k = 0; k < m.n_associated_files; k++)
        put_file(r, &m.associated_files[k]);
    end(r, "model");
    if (m.n_subgraph == 0)
        return KILN_OK;
    for (size_t i = 0; i < m.subgraph[0].n_input; i++)
        KILN_TRY(put_tensor(r, &m.subgraph[0].input[i], true, i));
    for (size_t i = 0; i < m.subgraph[0].n_output; i++)
        KILN_TRY(put_tensor(r, &m.subgraph[0].output[i], false, i));
    return KILN_OK;
}

/* The interpreter keeps variables from one run to the next; a network of kiln's does not:
 * they are inputs and outputs at most. */
static void note_state(kiln_tflite_cx *cx) {
    size_t n = 0;
    for (size_t i = 0; i < cx->g->n_tensor; i++)
        n += cx->g->tensor[i].is_variable != 0;
    const char *const otherwise =
        "each run begins with zeros, as the interpreter's first does, which goes on "
        "from run to run (--state makes them inputs and outputs)";
    const char *const kept =
        "inputs, zeros at first, and outputs NAME" KILN_STATE_SUFFIX
        ", which the next run begins with";
    if (n > 0)
        add_note(cx, "state",
                 kiln_format(cx->common.arena, "%zu variable%s; %s", n, kiln_plural(n),
                             cx->options->has_state ? kept : otherwise));
}

void kiln_tflite_read_metadata(kiln_tflite_cx *cx) {
    const kiln_tflite_model *const m = cx->model;
    note_state(cx);
    for (size_t i = 0; i < m->n_metadata; i++) {
        if (!kiln_str_is(m->metadata[i].name, "TFLITE_METADATA"))
            continue;
        const kiln_tflite_tensor at = {.buffer = m->metadata[i].buffer};
        kiln_str bytes = {NULL, 0};
        kiln_err err = {0};
        kiln_fb own = cx->fb;
        own.err = &err;
        if (m->metadata[i].buffer < 0 ||
            (uint64_t)m->metadata[i].buffer >= m->n_buffer ||
            kiln_tflite_data(&own, m, &at, &bytes) != KILN_OK || bytes.n < 8 ||
            memcmp(bytes.p + 4, "M001", 4) != 0) {
            add_note(cx, "metadata",
                     "cannot be read: no ModelMetadata is where it should be");
            return;
        }
        reading r = {.cx = cx, .fb = kiln_fb_begin(&cx->common.scratch, bytes, &err)};
        if (put_model(&r) != KILN_OK)
            add_note(cx, "metadata",
                     kiln_format(cx->common.arena, "cannot be read: %s",
                                 show(&r, kiln_str_from(err.text))));
        return;
    }
}
