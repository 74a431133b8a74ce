/* What a build made: for people, and as JSON (docs/build-json.md). */
#include "pipeline/package/package.h"

#include <inttypes.h>

#include "reports/results/documents.h"

static void put_row(kiln_buf *out, const kiln_ledger_row *r, int64_t all_muladds) {
    int64_t muladds = 0;
    kiln_buf_printf(out, "  %-20s", r->op);
    for (int c = 0; c < KILN_N_COVERAGE; c++) {
        kiln_buf_printf(out, " %11" PRId64, r->steps[c]);
        muladds += r->muladds[c];
    }
    kiln_buf_printf(out, " %7" PRId64 " %13.2f%%\n", r->copies,
                    all_muladds > 0 ? 100.0 * (double)muladds / (double)all_muladds
                                    : 0);
}

static void put_ledger(kiln_buf *out, const kiln_ledger *l) {
    int64_t all = 0;
    for (int c = 0; c < KILN_N_COVERAGE; c++)
        all += l->all.muladds[c];
    kiln_buf_printf(out, "%-22s", "coverage, in steps");
    for (int c = 0; c < KILN_N_COVERAGE; c++)
        kiln_buf_printf(out, " %11s", kiln_coverage_name((kiln_coverage)c));
    kiln_buf_printf(out, " %7s %14s\n", "copies", "multiply-adds");
    for (size_t i = 0; i < l->row.n; i++)
        put_row(out, &l->row.v[i], all);
    put_row(out, &l->all, all);
    kiln_buf_printf(out, "  %-20s", "by multiply-adds");
    for (int c = 0; c < KILN_N_COVERAGE; c++)
        kiln_buf_printf(out, " %10.2f%%",
                        all > 0 ? 100.0 * (double)l->all.muladds[c] / (double)all : 0);
    kiln_buf_puts(out, "\n");
    if (l->all.steps[KILN_COVERED_TUNED] > 0)
        kiln_buf_printf(out,
                        "  tuned: the best of %" PRId64
                        " configuration%s measured for %" PRId64 " step%s\n",
                        l->all.n_tried, kiln_plural(l->all.n_tried),
                        l->all.steps[KILN_COVERED_TUNED],
                        kiln_plural(l->all.steps[KILN_COVERED_TUNED]));
}

static void put_proof(kiln_buf *out, const kiln_build *b) {
    const kiln_proof *p = &b->proof;
    if (p->device == NULL) {
        kiln_buf_puts(out,
                      "proof: none, by --no-verify: nobody has run this package\n");
        return;
    }
    kiln_buf_printf(out,
                    "proof: ran on '%s'; %d of %d steps right, %" PRId64 " of %" PRId64
                    " elements of their results compared\n",
                    p->device, p->n_proved, p->n_steps, p->n_checked, p->n_elems);
    if (p->n_unseen > 0)
        kiln_buf_printf(out, "  %d step%s in branches that no inputs took\n",
                        p->n_unseen, p->n_unseen == 1 ? " is" : "s are");
    if (p->n_unknown > 0)
        kiln_buf_printf(out, "  %d step%s only by the outputs: %s\n", p->n_unknown,
                        kiln_plural(p->n_unknown), p->unknown);
}

static void put_selftest(kiln_buf *out, const kiln_build_selftest *t) {
    kiln_buf_printf(out, "self-test: %s inputs", t->law);
    if (t->n_held == t->n_elems && t->n_weak == 0) {
        kiln_buf_printf(out,
                        ", every element of the outputs has a bound (%" PRId64 ")\n",
                        t->n_elems);
        return;
    }
    kiln_buf_printf(out,
                    ", %" PRId64 " of %" PRId64
                    " elements of the outputs have a bound; the others hang on "
                    "rounding",
                    t->n_held, t->n_elems);
    if (t->n_weak > 0)
        kiln_buf_printf(out,
                        "; %" PRId64 " bounds are a quarter of their output or more",
                        t->n_weak);
    kiln_buf_puts(out, t->n_held == 0 ? ": nothing can be told, 'kiln verify --golden' "
                                        "compares with real outputs\n"
                                      : "\n");
}

void kiln_build_text(kiln_buf *out, const kiln_build *b) {
    kiln_buf_printf(out,
                    "%s for profile %s (%s): %" PRId64
                    " multiply-adds, %d step%s (%d conversion%s), %zu kernel%s\n",
                    b->model, b->profile, b->numerics, b->cost.muladds, b->n_steps,
                    kiln_plural(b->n_steps), b->n_conversions,
                    kiln_plural(b->n_conversions), b->n_kernels,
                    kiln_plural((int64_t)b->n_kernels));
    if (b->forecast != NULL)
        kiln_net_forecast_text(out, b->forecast, b->n_conversions);
    put_ledger(out, &b->ledger);
    if (b->n_ready > 0)
        kiln_buf_printf(out, "ready records chose for %d of the kernels\n", b->n_ready);
    kiln_buf_printf(
        out,
        "memory: activations %.3f MB, lower bound %.3f MB (%.3f times); parameters "
        "%.3f MB; workspace %.3f MB, scratch of each thread %.3f MB\n",
        (double)b->arena * 1e-6, (double)b->lower_bound * 1e-6,
        b->lower_bound > 0 ? (double)b->arena / (double)b->lower_bound : 1,
        (double)b->params * 1e-6, (double)b->workspace * 1e-6,
        (double)b->scratch * 1e-6);
    if (b->packed > 0)
        kiln_buf_printf(out,
                        "packed when it is opened: %.3f MB beside the parameters, by "
                        "%d step%s\n",
                        (double)b->packed * 1e-6, b->n_open, kiln_plural(b->n_open));
    put_proof(out, b);
    put_selftest(out, &b->selftest);
    kiln_buf_printf(out, "archive: %s, %" PRIu64 " bytes\nsha256: %s\n", b->path,
                    b->bytes, b->sha256);
}

/* ---- as a document (docs/build-json.md) ------------------------------------------ */

/* Origins that occur; nothing was timed yet. */
static kiln_doc_ledger ledger_of(kiln_arena *a, const kiln_ledger_row *r) {
    kiln_doc_ledger out = {.op = r->op, .copies = r->copies, .tried = r->n_tried};
    for (int c = 0; c < KILN_N_COVERAGE; c++) {
        const kiln_results_coverage row = {.origin =
                                               kiln_coverage_name((kiln_coverage)c),
                                           .steps = r->steps[c],
                                           .multiply_adds = r->muladds[c]};
        if (row.steps > 0)
            kiln_vec_push(a, &out.coverage, row);
    }
    kiln_results_derive_coverage(&out.coverage);
    return out;
}

static kiln_doc_proof proof_of(const kiln_proof *p) {
    if (p->device == NULL)
        return (kiln_doc_proof){.proved = false};
    return (kiln_doc_proof){.proved = true,
                            .device = p->device,
                            .steps = p->n_steps,
                            .proved_steps = p->n_proved,
                            .unknown_steps = p->n_unknown,
                            .unseen_steps = p->n_unseen,
                            .elements = p->n_elems,
                            .compared_elements = p->n_checked,
                            .time_ms = p->time_ms};
}

static kiln_doc_layout_search search_of(const kiln_net_forecast *f) {
    if (f == NULL)
        return (kiln_doc_layout_search){.steps = 0};
    return (kiln_doc_layout_search){.greedy_us = f->greedy_ns / 1e3,
                                    .search_us = f->search_ns / 1e3,
                                    .chosen_us = f->chosen_ns / 1e3,
                                    .greedy_conversions = f->greedy_conversions,
                                    .steps = f->n_sites,
                                    .ways = f->n_ways,
                                    .measured_steps = f->n_known,
                                    .changed_steps = f->n_changed,
                                    .least = f->is_least};
}

void kiln_build_put(kiln_json_writer *w, const kiln_build *b) {
    kiln_arena *a = w->out->arena;
    kiln_doc_build d = {.model = b->model,
                        .profile = b->profile,
                        .numerics = b->numerics,
                        .archive = {b->path, b->sha256, (int64_t)b->bytes},
                        .multiply_adds = b->cost.muladds,
                        .steps = b->n_steps,
                        .conversions = b->n_conversions,
                        .has_layout_search = b->forecast != NULL,
                        .layout_search = search_of(b->forecast),
                        .ready_kernels = b->n_ready,
                        .predicted_kernels = b->n_predicted,
                        .kernels = (int64_t)b->n_kernels,
                        .time_ms = b->time_ms,
                        .proof = proof_of(&b->proof),
                        .selftest = {b->selftest.law, b->selftest.n_elems,
                                     b->selftest.n_held, b->selftest.n_weak},
                        .memory = {.activation = b->arena,
                                   .lower_bound = b->lower_bound,
                                   .parameter = b->params,
                                   .workspace = b->workspace,
                                   .scratch = b->scratch,
                                   .packed = b->packed},
                        .all = ledger_of(a, &b->ledger.all)};
    for (size_t i = 0; i < b->ledger.row.n; i++) {
        const kiln_doc_ledger row = ledger_of(a, &b->ledger.row.v[i]);
        kiln_vec_push(a, &d.ledger, row);
    }
    kiln_results_derive_memory(&d.memory);
    kiln_record_put(w, &kiln_build_table, &d);
}
