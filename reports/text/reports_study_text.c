/* A study as a table for people, and as CSV: see reports_study.h. */
#include "reports/results/reports_study.h"

#include <string.h>

#include "reports/text/csv.h"
#include "reports/results/reports_fields.h"

static bool is_state(const kiln_doc_study_row *r, const char *state) {
    return r->state != NULL && strcmp(r->state, state) == 0;
}

bool kiln_doc_study_is_good(const kiln_doc_study *s) {
    for (size_t i = 0; i < s->part.n; i++)
        for (size_t k = 0; k < s->part.v[i].row.n; k++)
            if (is_state(&s->part.v[i].row.v[k], "failed") ||
                is_state(&s->part.v[i].row.v[k], "wrong"))
                return false;
    return true;
}

/* ---- text ------------------------------------------------------------------------ */

static void put_gain(kiln_buf *out, const kiln_doc_study_row *r) {
    const kiln_stats_interval *g = &r->gain;
    if (g->estimate > 0)
        kiln_buf_printf(out, " %7.2f (%.2f to %.2f)", g->estimate, g->low, g->high);
    if (r->published > 0)
        kiln_buf_printf(out, ", paper %.2f", r->published);
}

static void put_row(kiln_buf *out, const kiln_doc_study_row *r) {
    kiln_buf_printf(out, "  %-22s %3d ", r->way, r->threads);
    if (is_state(r, "measured")) {
        kiln_buf_printf(out, "%10.4f (%.4f to %.4f)", r->ms.estimate, r->ms.low,
                        r->ms.high);
        put_gain(out, r);
    } else {
        kiln_buf_printf(out, "%s: %s", r->state, r->problem);
    }
    if (r->version != NULL)
        kiln_buf_printf(out, "  [%s]", r->version);
    if (r->file != NULL)
        kiln_buf_printf(out, "  %s", r->file);
    if (r->choice != NULL) /* without the configuration */
        kiln_buf_printf(out, "  %.*s", (int)strcspn(r->choice, "{"), r->choice);
    if (r->steps > 0)
        kiln_buf_printf(out, "  [%lld step%s, %lld conversion%s]", (long long)r->steps,
                        kiln_plural(r->steps), (long long)r->conversions,
                        kiln_plural(r->conversions));
    kiln_buf_puts(out, "\n");
}

static void put_part(kiln_buf *out, const kiln_doc_study_part *p) {
    kiln_buf_printf(out, "%s (%s)\n%s\n", p->title, p->source, p->shape);
    for (size_t i = 0; i < p->note.n; i++)
        kiln_buf_printf(out, "  %s\n", p->note.v[i]);
    kiln_buf_printf(out, "\n  %-22s %3s %10s %s\n", "way", "on", "ms",
                    "(95%)  times as fast as the first (95%)");
    for (size_t i = 0; i < p->row.n; i++) {
        const kiln_doc_study_row *r = &p->row.v[i];
        if (i == 0 || strcmp(r->group, p->row.v[i - 1].group) != 0)
            kiln_buf_printf(out, "%s\n", r->group);
        put_row(out, r);
    }
    kiln_buf_puts(out, "\n");
}

void kiln_doc_study_text(kiln_buf *out, const kiln_doc_study *s) {
    kiln_buf_printf(out, "study of %s on %s, %d core%s, profile %s, %d round%s\n\n",
                    s->study, s->machine.cpu != NULL ? s->machine.cpu : "this machine",
                    s->machine.cores, kiln_plural(s->machine.cores), s->profile,
                    s->rounds, kiln_plural(s->rounds));
    for (size_t i = 0; i < s->part.n; i++)
        put_part(out, &s->part.v[i]);
}

/* ---- CSV ------------------------------------------------------------------------- */

void kiln_doc_study_csv(kiln_buf *out, const kiln_doc_study *s) {
    kiln_csv_head(out, "study,part,", &kiln_doc_study_row_table);
    for (size_t i = 0; i < s->part.n; i++)
        for (size_t k = 0; k < s->part.v[i].row.n; k++) {
            kiln_csv_text(out, s->study);
            kiln_buf_puts(out, ",");
            kiln_csv_text(out, s->part.v[i].name);
            kiln_buf_puts(out, ",");
            kiln_csv_line(out, &kiln_doc_study_row_table, &s->part.v[i].row.v[k]);
        }
}
