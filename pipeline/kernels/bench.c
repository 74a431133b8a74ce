/* `kiln bench --ops`: every operator made, checked, measured; a table and JSON. */
#include "pipeline/kernels/kernels_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PEAK_SLICES = 50 };

/* `scratch` lives as long as this operator, `a` as the report. */
static kiln_status measure(kiln_arena *a, kiln_arena *scratch, const kiln_op_line *line,
                           const kiln_profile *p, const kiln_bench_options *o,
                           kiln_meter *m, kiln_bench_row *row, kiln_err *err) {
    kiln_op_work work;
    kiln_kernel kernel;
    kiln_hot_loops loops;
    kiln_call call;
    KILN_TRY(kiln_op_work_make(scratch, line, &work, err));
    row->key = kiln_str_dupv(a, work.key);
    row->cost = work.cost;
    KILN_TRY(kiln_choose(a, &work, p, &o->choose, &row->choice, err));
    KILN_TRY(kiln_kernel_make(scratch, &work, &row->choice, p, &kernel, err));
    row->lower_ms = (double)kernel.lower_ns * 1e-6;
    row->codegen_ms = (double)kernel.codegen_ns * 1e-6;
    row->code_bytes = kernel.object.bytes.n;
    row->workspace_bytes = kernel.object.workspace_bytes;
    row->scratch_bytes = kernel.object.scratch_bytes;
    KILN_TRY(kiln_kernel_loops(scratch, &kernel, p, &loops, err));
    row->n_loops = (int)loops.n;
    row->spills = loops.spills;
    row->vector_registers = loops.vector_registers;
    if (loops.hot != NULL) {
        row->hot_instructions = loops.hot->instructions;
        row->hot_fma = loops.hot->vector_fma;
    }
    KILN_TRY(kiln_kernel_load(scratch, p, &kernel, err));
    KILN_TRY(kiln_call_new(scratch, &kernel, m->team, o->seed, &call, err));
    const kiln_arena_mark mark = kiln_arena_save(scratch);
    KILN_TRY(kiln_call_check(scratch, &call, o->seed, &row->verdict, err));
    row->verdict.problem = kiln_str_dup(a, row->verdict.problem);
    kiln_arena_rewind(scratch, mark);
    return kiln_call_time(scratch, &call, m, o->seconds, &row->timing, err);
}

static bool is_wanted(const kiln_bench_options *o, const kiln_op_line *line) {
    return o->filter == NULL || strstr(line->name, o->filter) != NULL;
}

static void count(kiln_bench *b) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < b->row.n; i++) {
        const kiln_bench_row *r = &b->row.v[i];
        b->n_refused += r->refusal != NULL;
        b->n_wrong += r->refusal == NULL && !r->verdict.ok;
        if (r->refusal == NULL && r->timing.peak_share > 0) {
            sum += log(r->timing.peak_share);
            n++;
        }
    }
    b->mean_share = n > 0 ? exp(sum / (double)n) : 0;
}

kiln_status kiln_bench_run(kiln_arena *a, const kiln_op_lines *lines,
                           const kiln_profile *p, const kiln_bench_options *o,
                           kiln_bench *out, kiln_err *err) {
    kiln_bench b = {.profile = p, .threads = o->threads > 1 ? o->threads : 1};
    kiln_meter meter;
    kiln_team team;
    size_t total = 0;
    for (size_t i = 0; i < lines->list.n; i++)
        total += is_wanted(o, &lines->list.v[i]);
    if (total == 0)
        return kiln_fail(err, KILN_ERR_ARG, "no operator's name contains '%s'",
                         o->filter != NULL ? o->filter : "");
    KILN_TRY(kiln_team_open(a, b.threads, &team, err));
    KILN_TRY(kiln_meter_new(a, p, team, &meter, err));
    b.peak = kiln_meter_best(&meter, PEAK_SLICES);
    for (size_t i = 0; i < lines->list.n; i++) {
        const kiln_op_line *line = &lines->list.v[i];
        if (!is_wanted(o, line))
            continue;
        if (o->progress != NULL)
            o->progress(o->user, line->name, b.row.n, total);
        kiln_arena scratch = {0};
        kiln_bench_row row = {.name = line->name};
        const kiln_status st = measure(a, &scratch, line, p, o, &meter, &row, err);
        kiln_arena_fini(&scratch);
        if (st == KILN_ERR_ARG || st == KILN_ERR_PARSE || st == KILN_ERR_IO)
            return st;
        if (st != KILN_OK) {
            row.refusal = kiln_str_dup(a, err->text);
            kiln_err_clear(err);
        }
        kiln_vec_push(a, &b.row, row);
    }
    count(&b);
    *out = b;
    return KILN_OK;
}

/* ---- text ------------------------------------------------------------------------ */

/* Too few slices had the processor to themselves. */
static bool is_noisy(const kiln_timing *t) { return t->n_slices - t->n_disturbed < 7; }

static void put_row(kiln_buf *out, const kiln_bench_row *r) {
    if (r->refusal != NULL) {
        kiln_buf_printf(out, "%-6s refused: %s\n", r->name, r->refusal);
        return;
    }
    const kiln_timing *t = &r->timing;
    kiln_buf_printf(out,
                    "%-6s %-14s %-5s %9.4f %9.4f %8.1f %6.1f %7.1f %6.1f %-7s %8.3f "
                    "%3d/%-2d %3d  %s%s%s\n",
                    r->name, r->choice.tmpl->name, kiln_origin_name(r->choice.origin),
                    t->median_ms, t->min_ms, t->gflops, 100 * t->peak_share, t->gbs,
                    100 * t->roofline_ms / t->median_ms, t->bound, r->verdict.worst,
                    r->hot_fma, r->hot_instructions, r->spills,
                    r->verdict.ok ? "ok" : "WRONG: ", r->verdict.problem,
                    is_noisy(t) ? " (disturbed)" : "");
}

void kiln_bench_text(kiln_buf *out, const kiln_bench *b) {
    kiln_buf_printf(
        out,
        "profile %s, %d thread%s; peak %.1f GFLOP/s (measured %.1f; %g vector "
        "multiply-adds x %.3f GHz)\n\n",
        b->profile->name, b->threads, b->threads == 1 ? "" : "s", b->peak.gflops,
        b->peak.measured_gflops, b->peak.fma_per_cycle, b->peak.clock_ghz);
    kiln_buf_printf(out, "%-6s %-14s %-5s %9s %9s %8s %6s %7s %6s %-7s %8s %6s %3s\n",
                    "op", "template", "from", "median ms", "min ms", "GFLOP/s", "%peak",
                    "GB/s", "%roof", "bound", "err/max", "fma/in", "sp");
    for (size_t i = 0; i < b->row.n; i++)
        put_row(out, &b->row.v[i]);
    if (b->mean_share > 0)
        kiln_buf_printf(out, "\ngeometric mean %.1f%% of peak", 100 * b->mean_share);
    kiln_buf_printf(out, "\n%zu measured, %zu wrong, %zu refused\n",
                    b->row.n - b->n_refused, b->n_wrong, b->n_refused);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void put_peak(kiln_json_writer *w, const kiln_peak *p) {
    kiln_json_begin_object(w);
    kiln_json_member_f64(w, "gflops", p->gflops);
    kiln_json_member_f64(w, "measured_gflops", p->measured_gflops);
    kiln_json_member_f64(w, "fma_per_cycle", p->fma_per_cycle);
    kiln_json_member_f64(w, "clock_ghz", p->clock_ghz);
    kiln_json_end_object(w);
}

static void put_timing(kiln_json_writer *w, const kiln_timing *t) {
    kiln_json_begin_object(w);
    kiln_json_member_i64(w, "slices", (int64_t)t->n_slices);
    kiln_json_member_i64(w, "disturbed_slices", (int64_t)t->n_disturbed);
    kiln_json_member_i64(w, "runs", t->n_runs);
    kiln_json_member_f64(w, "median_ms", t->median_ms);
    kiln_json_member_f64(w, "q1_ms", t->q1_ms);
    kiln_json_member_f64(w, "q3_ms", t->q3_ms);
    kiln_json_member_f64(w, "min_ms", t->min_ms);
    kiln_json_member_f64(w, "gflops", t->gflops);
    kiln_json_member_f64(w, "gbs", t->gbs);
    kiln_json_member_f64(w, "peak_share", t->peak_share);
    kiln_json_member_f64(w, "roofline_ms", t->roofline_ms);
    kiln_json_member_str(w, "bound", t->bound);
    kiln_json_name(w, "peak");
    put_peak(w, &t->peak);
    kiln_json_end_object(w);
}

static void put_json_row(kiln_json_writer *w, const kiln_bench_row *r) {
    kiln_json_begin_object(w);
    kiln_json_member_str(w, "op", r->name);
    kiln_json_member_str(w, "workload", r->key);
    if (r->choice.tmpl != NULL) {
        kiln_json_member_str(w, "template", r->choice.tmpl->name);
        kiln_json_member_str(w, "origin", kiln_origin_name(r->choice.origin));
        kiln_json_name(w, "config");
        kiln_config_put(w, r->choice.tmpl, &r->choice.space, &r->choice.config);
    }
    kiln_json_member_str(w, "refusal", r->refusal);
    kiln_json_member_i64(w, "flops", r->cost.flops);
    kiln_json_member_i64(w, "bytes", r->cost.bytes);
    if (r->refusal == NULL) {
        kiln_json_name(w, "output");
        kiln_json_begin_object(w);
        kiln_json_member_bool(w, "ok", r->verdict.ok);
        kiln_json_member_str(w, "problem", r->verdict.problem);
        kiln_json_member_f64(w, "worst_error_of_bound", r->verdict.worst);
        kiln_json_member_i64(w, "checked", r->verdict.n_checked);
        kiln_json_member_i64(w, "elements", r->verdict.n_elems);
        kiln_json_end_object(w);
        kiln_json_name(w, "time");
        put_timing(w, &r->timing);
        kiln_json_name(w, "code");
        kiln_json_begin_object(w);
        kiln_json_member_i64(w, "bytes", (int64_t)r->code_bytes);
        kiln_json_member_i64(w, "workspace_bytes", (int64_t)r->workspace_bytes);
        kiln_json_member_i64(w, "scratch_bytes", (int64_t)r->scratch_bytes);
        kiln_json_member_i64(w, "innermost_loops", r->n_loops);
        kiln_json_member_i64(w, "hot_instructions", r->hot_instructions);
        kiln_json_member_i64(w, "hot_vector_fma", r->hot_fma);
        kiln_json_member_i64(w, "hot_vector_registers", r->vector_registers);
        kiln_json_member_i64(w, "hot_spills", r->spills);
        kiln_json_member_f64(w, "lower_ms", r->lower_ms);
        kiln_json_member_f64(w, "codegen_ms", r->codegen_ms);
        kiln_json_end_object(w);
    }
    kiln_json_end_object(w);
}

void kiln_bench_json(kiln_buf *out, const kiln_bench *b) {
    kiln_json_writer w;
    kiln_json_writer_init(&w, out);
    kiln_json_begin_object(&w);
    kiln_json_member_str(&w, "profile", b->profile->name);
    kiln_json_member_i64(&w, "threads", b->threads);
    kiln_json_name(&w, "peak");
    put_peak(&w, &b->peak);
    kiln_json_name(&w, "ops");
    kiln_json_begin_array(&w);
    for (size_t i = 0; i < b->row.n; i++)
        put_json_row(&w, &b->row.v[i]);
    kiln_json_end_array(&w);
    kiln_json_member_i64(&w, "wrong", (int64_t)b->n_wrong);
    kiln_json_member_i64(&w, "refused", (int64_t)b->n_refused);
    kiln_json_member_f64(&w, "mean_peak_share", b->mean_share);
    kiln_json_end_object(&w);
    kiln_buf_puts(out, "\n");
}
