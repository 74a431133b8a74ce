/* Cells of CSV, and whole lines by a table of members: see csv.h. */
#include "reports/text/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A spreadsheet takes a text that starts so for a formula. */
static bool is_formula(const char *text) {
    return text[0] != '\0' && strchr("=+-@\t\r", text[0]) != NULL;
}

void kiln_csv_text(kiln_buf *out, const char *text) {
    if (text == NULL)
        return;
    const bool guard = is_formula(text);
    if (!guard && strpbrk(text, "\",\r\n") == NULL) {
        kiln_buf_puts(out, text);
        return;
    }
    kiln_buf_puts(out, guard ? "\"'" : "\"");
    for (const char *at = text; *at != '\0';) {
        const size_t n = strcspn(at, "\"");
        kiln_buf_add(out, at, n);
        at += n;
        if (*at == '"') {
            kiln_buf_puts(out, "\"\"");
            at++;
        }
    }
    kiln_buf_puts(out, "\"");
}

void kiln_csv_f64(kiln_buf *out, double v) {
    char text[32];
    if (!isfinite(v))
        return;
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    kiln_buf_puts(out, text);
}

/* ---- lines by a table ------------------------------------------------------------ */

static void put_names(kiln_buf *out, const char *before, const kiln_record_table *t,
                      const char **comma) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_record_field *f = &t->field[i];
        if (f->kind == KILN_RECORD_OBJECT) {
            put_names(out, kiln_format(out->arena, "%s%s_", before, f->name), f->of,
                      comma);
            continue;
        }
        /* The value of an interval has the interval's name. */
        const bool is_value = before[0] != '\0' && strcmp(f->name, "estimate") == 0;
        kiln_buf_puts(out, *comma);
        if (is_value)
            kiln_buf_add(out, before, strlen(before) - 1);
        else
            kiln_buf_printf(out, "%s%s", before, f->name);
        *comma = ",";
    }
}

static void put_cell(kiln_buf *out, const kiln_record_field *f,
                     const unsigned char *p) {
    const void *at = p;
    const double v = f->kind == KILN_RECORD_F64 || f->kind == KILN_RECORD_POSITIVE
                         ? *(const double *)at
                         : 0;
    KILN_ASSERT(f->kind <= KILN_RECORD_POSITIVE && f->kind != KILN_RECORD_ENUM &&
                    f->kind != KILN_RECORD_JSON,
                "'%s' is no cell", f->name);
    if (f->kind == KILN_RECORD_TEXT || f->kind == KILN_RECORD_WORD)
        kiln_csv_text(out, *(const char *const *)at);
    else if (f->kind == KILN_RECORD_F64 || v > 0)
        kiln_csv_f64(out, v);
    else if (f->kind == KILN_RECORD_I64)
        kiln_buf_printf(out, "%" PRId64, *(const int64_t *)at);
    else if (f->kind == KILN_RECORD_SIZE)
        kiln_buf_printf(out, "%zu", *(const size_t *)at);
    else if (f->kind == KILN_RECORD_INT)
        kiln_buf_printf(out, "%d", *(const int *)at);
    else if (f->kind == KILN_RECORD_BOOL)
        kiln_buf_puts(out, *(const bool *)at ? "true" : "false");
}

static void put_members(kiln_buf *out, const kiln_record_table *t, const void *from,
                        const char **comma) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const kiln_record_field *f = &t->field[i];
        const unsigned char *at = (const unsigned char *)from + f->offset;
        if (f->kind == KILN_RECORD_OBJECT) {
            put_members(out, f->of, at, comma);
            continue;
        }
        kiln_buf_puts(out, *comma);
        put_cell(out, f, at);
        *comma = ",";
    }
}

void kiln_csv_head(kiln_buf *out, const char *first, const kiln_record_table *t) {
    const char *comma = "";
    kiln_buf_puts(out, first);
    put_names(out, "", t, &comma);
    kiln_buf_puts(out, KILN_CSV_END);
}

void kiln_csv_line(kiln_buf *out, const kiln_record_table *t, const void *from) {
    const char *comma = "";
    put_members(out, t, from, &comma);
    kiln_buf_puts(out, KILN_CSV_END);
}
