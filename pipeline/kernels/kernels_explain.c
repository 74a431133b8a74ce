/* `kiln explain`: what became of one operator, at each step of the way, and how far it
 * is from what the machine allows. */
#include "compiler/loop/loop_nest.h"
#include "pipeline/kernels/kernels_internal.h"

#include <inttypes.h>
#include <string.h>

enum { MIX_WORDS = 64 };
static const double measure_seconds = 0.3;

const char *kiln_explain_stage_name(kiln_explain_stage s) {
    KILN_ASSERT((int)s >= 0 && s < KILN_N_EXPLAIN_STAGES, "no stage %d to explain",
                (int)s);
    static const char *const name[] = {
        [KILN_EXPLAIN_SUMMARY] = "summary",       [KILN_EXPLAIN_KNOBS] = "knobs",
        [KILN_EXPLAIN_EXPRESSION] = "expression", [KILN_EXPLAIN_SCHEDULE] = "schedule",
        [KILN_EXPLAIN_LOWERED] = "lowered",       [KILN_EXPLAIN_PROGRAM] = "program",
        [KILN_EXPLAIN_ASSEMBLY] = "assembly",
    };
    return name[s];
}

/* One operator, as far as it came. */
typedef struct explain {
    kiln_arena *arena;
    const kiln_profile *profile;
    kiln_op_work work;
    kiln_kernel kernel;
    kiln_hot_loops loops;
    kiln_bench_row row;         /* what became of it, where it was tried */
    const kiln_own_kernel *own; /* NULL: a template made it */
} explain;

static bool needs(unsigned stages, kiln_explain_stage s) {
    return (stages & 1U << s) != 0;
}

/* ---- texts ----------------------------------------------------------------------- */

static void put_knobs(const explain *e, kiln_buf *out) {
    const kiln_choice *c = &e->kernel.choice;
    kiln_buf_printf(out, "template %s: %s\n%" PRIu64 " configurations\n", c->tmpl->name,
                    c->tmpl->doc, c->space.size);
    for (int k = 0; k < c->space.n; k++) {
        const kiln_knob *knob = &c->space.knob[k];
        kiln_buf_printf(out, "\n%s: %s\n  chosen ", knob->name, knob->doc);
        kiln_knob_option_text(out, knob, c->config.option[k]);
        kiln_buf_printf(out, " of %d:", knob->n);
        for (int i = 0; i < knob->n; i++) {
            kiln_buf_puts(out, " ");
            kiln_knob_option_text(out, knob, i);
        }
        kiln_buf_puts(out, "\n");
    }
}

static void put_expression(const explain *e, kiln_buf *out) {
    const kiln_te_graph *te = &e->kernel.scheduled.te;
    kiln_te_print(out, te->arg + te->n_inputs, te->n_args - te->n_inputs);
}

static kiln_status put_lowered(const explain *e, kiln_buf *out, kiln_err *err) {
    const kiln_te_graph *te = &e->kernel.scheduled.te;
    kiln_program *p;
    KILN_TRY(kiln_lower(e->arena, e->kernel.scheduled.schedule, te->arg, te->n_args,
                        te->n_inputs, e->kernel.program->name, &p, err));
    kiln_program_print(out, p);
    return KILN_OK;
}

/* ---- assembly -------------------------------------------------------------------- */

typedef struct mix {
    kiln_str word[MIX_WORDS];
    int count[MIX_WORDS], n;
} mix;

/* Instructions are indented; labels and directives are not counted. */
static void count_mix(kiln_str text, mix *m) {
    kiln_str line;
    while (kiln_str_cut(&text, '\n', &line)) {
        if (line.n == 0 || (line.p[0] != ' ' && line.p[0] != '\t'))
            continue;
        line = kiln_str_trim(line);
        if (line.n == 0 || line.p[0] == '.' || line.p[0] == '#')
            continue;
        kiln_str op = {line.p, 0};
        while (op.n < line.n && line.p[op.n] != ' ' && line.p[op.n] != '\t')
            op.n++;
        int i = 0;
        while (i < m->n && !kiln_str_eq(m->word[i], op))
            i++;
        if (i == m->n && m->n < MIX_WORDS) {
            m->word[m->n] = op;
            m->count[m->n++] = 0;
        }
        if (i < m->n)
            m->count[i]++;
    }
}

static kiln_str loop_text(const explain *e, const kiln_asm_loop *l) {
    return kiln_text_lines(e->kernel.text.assembly, l->line_begin, l->line_end);
}

static void put_mix(const explain *e, const kiln_asm_loop *l, kiln_buf *out) {
    mix m = {.n = 0};
    count_mix(loop_text(e, l), &m);
    for (int i = 0; i < m.n; i++) { /* most frequent first; few words */
        int best = i;
        for (int j = i + 1; j < m.n; j++)
            if (m.count[j] > m.count[best])
                best = j;
        const kiln_str word = m.word[best];
        const int count = m.count[best];
        m.word[best] = m.word[i];
        m.count[best] = m.count[i];
        kiln_buf_printf(out, "%s%.*s %d", i > 0 ? ", " : "", KILN_STR_ARG(word), count);
    }
    kiln_buf_puts(out, "\n");
}

static void put_loop(const kiln_asm_loop *l, kiln_buf *out) {
    kiln_buf_printf(out,
                    "%d instructions: %d vector multiply-adds, %d vector loads, %d "
                    "vector stores, %d spills\n",
                    l->instructions, l->vector_fma, l->vector_loads, l->vector_stores,
                    l->spills);
}

/* Every loop as hot as the hottest: partitioned loops have several such bodies. */
static void put_assembly(const explain *e, kiln_buf *out) {
    const kiln_hot_loops *h = &e->loops;
    if (e->own != NULL && e->own->refusal != NULL) {
        kiln_buf_printf(out, "# none: %s\n", e->own->refusal);
        return;
    }
    kiln_buf_printf(out, "# %zu innermost loops\n", h->n);
    if (h->hot == NULL)
        kiln_buf_printf(out, "%.*s", KILN_STR_ARG(e->kernel.text.assembly));
    for (size_t i = 0; i < h->n; i++) {
        const kiln_asm_loop *l = &h->loop[i];
        if (l != h->hot && (l->vector_fma == 0 || l->vector_fma < h->hot->vector_fma))
            continue;
        kiln_buf_printf(out, "\n# loop %zu, lines %d to %d%s: ", i + 1, l->line_begin,
                        l->line_end, l == h->hot ? ", the hottest" : "");
        put_loop(l, out);
        kiln_buf_puts(out, "# ");
        put_mix(e, l, out);
        const kiln_str text = loop_text(e, l);
        kiln_buf_printf(out, "%.*s\n", KILN_STR_ARG(text));
    }
}

/* ---- summary --------------------------------------------------------------------- */

static void put_arguments(const explain *e, kiln_buf *out) {
    const kiln_te_graph *te = &e->kernel.scheduled.te;
    for (size_t i = 0; i < te->n_args; i++) {
        const kiln_value *v = te->arg_value[i];
        kiln_buf_printf(out, "  %-8s %s: %s, %" PRId64 " bytes\n",
                        i >= te->n_inputs ? "output"
                        : v->data != NULL ? "constant"
                                          : "input",
                        v->name, kiln_type_text(e->arena, &te->arg_type[i]),
                        kiln_type_bytes(&te->arg_type[i]));
    }
}

static void put_time(const explain *e, kiln_buf *out) {
    const kiln_timing *t = &e->row.timing;
    const kiln_verdict *v = &e->row.verdict;
    if (e->row.refusal != NULL) {
        kiln_buf_printf(out, "%s: %s\n",
                        e->row.failure != NULL ? "FAILED" : "not measured",
                        e->row.refusal);
        return;
    }
    kiln_buf_printf(out,
                    "output: %s%s (%" PRId64 " of %" PRId64
                    " elements compared, worst error %.3g of its bound)\n",
                    v->ok ? "right" : "WRONG: ", v->problem, v->n_checked, v->n_elems,
                    v->worst);
    if (t->n_slices == 0)
        return;
    kiln_buf_printf(out,
                    "time: median %.4f ms (quartiles %.4f and %.4f, least %.4f), %.1f "
                    "GFLOP/s, %.1f GB/s\n",
                    t->median_ms, t->q1_ms, t->q3_ms, t->min_ms, t->gflops, t->gbs);
    if (kiln_profile_is_gpu(e->profile))
        kiln_buf_printf(out, "peak: %.1f GFLOP/s by the profile; %.1f%% of it\n",
                        t->peak.gflops, 100 * t->peak_share);
    else
        kiln_buf_printf(
            out,
            "peak: %.1f GFLOP/s (measured %.1f; %g vector multiply-adds x %.3f "
            "GHz); %.1f%% of it\n",
            t->peak.gflops, t->peak.measured_gflops, t->peak.fma_per_cycle,
            t->peak.clock_ghz, 100 * t->peak_share);
    kiln_buf_printf(out,
                    "roofline: bound by %s, %.4f ms at best (memory %.4f, instructions "
                    "%.4f); %.1f%% of it\n",
                    t->bound, t->roofline_ms, t->memory_ms, t->instructions_ms,
                    100 * t->roofline_ms / t->median_ms);
}

/* What threads gain at best, by counting: see kiln_program_spread. */
static void put_spread(const explain *e, kiln_buf *out) {
    const kiln_spread two =
        kiln_program_spread(e->arena, e->kernel.program, 2, e->profile->vector_bytes);
    const kiln_spread four =
        kiln_program_spread(e->arena, e->kernel.program, 4, e->profile->vector_bytes);
    kiln_buf_printf(out, "threads: ");
    if (two.forks == 0) {
        kiln_buf_puts(out, "no loop is parallel\n");
        return;
    }
    kiln_buf_printf(out,
                    "%" PRId64 " fork%s of %" PRId64 " iterations, %.1f%% of the work "
                    "outside; at best %.2f times as fast on 2, %.2f on 4\n",
                    two.forks, two.forks > 1 ? "s, the longest" : "", two.iterations,
                    100 * two.serial / two.work, two.work / two.longest,
                    four.work / four.longest);
}

/* What a GPU's launches are and move, told from the program before the loop passes. */
static kiln_status put_launches(const explain *e, kiln_buf *out, kiln_err *err) {
    const kiln_scheduled *s = &e->kernel.scheduled;
    const kiln_te_graph *te = &s->te;
    kiln_program *lowered;
    kiln_nest nest;
    kiln_nest_warps w;
    KILN_TRY(kiln_lower(e->arena, s->schedule, te->arg, te->n_args, te->n_inputs,
                        "launches", &lowered, err));
    kiln_nest_of(e->arena, lowered, &nest);
    kiln_nest_warps_of(&nest, e->profile->gpu.warp, &w);
    kiln_buf_printf(
        out, "launch: %.0f block%s of %.0f threads, %.0f bytes of shared memory\n",
        w.blocks, kiln_plural((int64_t)w.blocks), w.threads, w.shared_bytes);
    kiln_buf_printf(out, "warps of %d: %.0f sectors of global memory",
                    e->profile->gpu.warp, w.sectors);
    if (w.sectors > 0)
        kiln_buf_printf(out, " (%.0f%% needed)", 100 * w.least_sectors / w.sectors);
    kiln_buf_printf(out, ", %.0f turns of shared memory's banks", w.turns);
    if (w.turns > 0)
        kiln_buf_printf(out, " (%.0f%% needed)", 100 * w.least_turns / w.turns);
    kiln_buf_puts(out, "\n");
    return KILN_OK;
}

static void put_choice(const kiln_kernel *k, kiln_buf *out) {
    kiln_buf_printf(out, "configuration (%s): ", kiln_origin_name(k->choice.origin));
    kiln_config_json(out, k->choice.tmpl, &k->choice.space, &k->choice.config);
    kiln_buf_printf(out,
                    "\nkernel: %zu bytes of object, %zu of workspace, %zu of scratch; "
                    "lowered in %.2f ms, compiled in %.1f ms\n",
                    k->object.bytes.n, k->object.workspace_bytes,
                    k->object.scratch_bytes, (double)k->lower_ns * 1e-6,
                    (double)k->codegen_ns * 1e-6);
}

static kiln_status put_summary(const explain *e, kiln_buf *out, kiln_err *err) {
    const kiln_kernel *k = &e->kernel;
    const kiln_cost *c = &e->work.cost;
    kiln_buf_printf(out, "%s\nworkload: %.*s\nanchor:   %.*s\n", e->work.name,
                    KILN_STR_ARG(e->work.key), KILN_STR_ARG(e->work.anchor));
    kiln_buf_printf(out, "profile:  %s (%s, %d-byte vectors, %d registers)\n",
                    e->profile->name, e->profile->cpu, e->profile->vector_bytes,
                    e->profile->vector_registers);
    put_arguments(e, out);
    kiln_buf_printf(
        out, "work: %" PRId64 " flops, %" PRId64 " bytes, %.1f flops for each byte\n",
        c->flops, c->bytes, (double)c->flops / (double)c->bytes);
    if (e->own != NULL)
        kiln_own_summary_put(e->own, k, e->profile, out);
    else
        put_choice(k, out);
    if (kiln_profile_is_gpu(e->profile))
        KILN_TRY(put_launches(e, out, err));
    else
        put_spread(e, out);
    if (e->loops.hot != NULL) {
        kiln_buf_puts(out, "hottest loop: ");
        put_loop(e->loops.hot, out);
        kiln_buf_printf(out, "  vector registers: %d of %d\n  instructions: ",
                        e->loops.vector_registers, e->profile->vector_registers);
        put_mix(e, e->loops.hot, out);
        kiln_buf_printf(out, "spills in all loops that multiply and add: %d\n",
                        e->loops.spills);
    }
    if (e->own == NULL)
        put_time(e, out);
    return KILN_OK;
}

/* ---- JSON of what programs read -------------------------------------------------- */

/* Its code is the one that the texts show. */
static void put_summary_json(const explain *e, kiln_json_writer *w) {
    if (e->own != NULL) {
        kiln_own_summary_json(e->own, &e->kernel, e->profile, w);
        return;
    }
    kiln_bench_row row = e->row;
    kiln_bench_row_fill(&row, &e->kernel, &e->loops, e->profile);
    kiln_bench_row_put(w, &row, 1);
}

static void put_knobs_json(const explain *e, kiln_json_writer *w) {
    const kiln_choice *c = &e->kernel.choice;
    kiln_json_begin_array(w);
    for (int k = 0; k < c->space.n; k++) {
        const kiln_knob *knob = &c->space.knob[k];
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", knob->name);
        kiln_json_member_str(w, "doc", knob->doc);
        kiln_json_member_i64(w, "chosen", c->config.option[k]);
        kiln_json_name(w, "options");
        kiln_json_begin_array(w);
        for (int i = 0; i < knob->n; i++)
            kiln_knob_put_option(w, knob, i);
        kiln_json_end_array(w);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

/* ---- the whole ------------------------------------------------------------------- */

static kiln_status put_stage(const explain *e, kiln_explain_stage s, kiln_buf *out,
                             kiln_err *err) {
    switch (s) {
    case KILN_EXPLAIN_SUMMARY:
        return put_summary(e, out, err);
    case KILN_EXPLAIN_KNOBS:
        put_knobs(e, out);
        return KILN_OK;
    case KILN_EXPLAIN_EXPRESSION:
        put_expression(e, out);
        return KILN_OK;
    case KILN_EXPLAIN_SCHEDULE:
        kiln_schedule_print(out, e->kernel.scheduled.schedule);
        return KILN_OK;
    case KILN_EXPLAIN_LOWERED:
        return put_lowered(e, out, err);
    case KILN_EXPLAIN_PROGRAM:
        kiln_program_print(out, e->kernel.program);
        return KILN_OK;
    case KILN_EXPLAIN_ASSEMBLY:
        put_assembly(e, out);
        return KILN_OK;
    case KILN_N_EXPLAIN_STAGES:
        break;
    }
    return KILN_OK;
}

/* A profile of another machine is explained all the same, but for its time. */
static kiln_status measure(explain *e, const kiln_workers *workers, kiln_err *err) {
    const kiln_op_trials_options o = {
        .threads = 1, .seconds = measure_seconds, .seed = 1, .workers = workers};
    kiln_op_trials trials;
    e->row = (kiln_bench_row){.name = e->work.name,
                              .key = e->work.key.p,
                              .choice = e->kernel.choice,
                              .cost = e->work.cost};
    kiln_status st = kiln_runs_here(e->profile, err);
    if (st == KILN_OK)
        st = kiln_op_trials_open(e->arena, e->profile, &o, &trials, err);
    if (st == KILN_OK)
        st = kiln_op_trial(e->arena, &trials, &e->work, measure_seconds, NULL, &e->row,
                           err);
    if (st != KILN_ERR_UNSUPPORTED)
        return st;
    e->row.refusal = kiln_str_dup(e->arena, err->text);
    kiln_err_clear(err);
    return KILN_OK;
}

static kiln_status make_chosen(explain *e, const kiln_choose_options *choose,
                               kiln_err *err) {
    kiln_choice choice;
    KILN_TRY(kiln_choose(e->arena, &e->work, e->profile, choose, &choice, err));
    return kiln_kernel_make(e->arena, &e->work, &choice, e->profile, &e->kernel, err);
}

static kiln_status make_own(explain *e, const kiln_own_schedule *own, unsigned stages,
                            kiln_own_kernel *written, kiln_err *err) {
    if (needs(stages, KILN_EXPLAIN_KNOBS))
        return kiln_fail(err, KILN_ERR_ARG,
                         "a schedule of one's own has no knobs; leave --schedule out, "
                         "or ask for other stages");
    e->own = written;
    return kiln_own_kernel_make(e->arena, &e->work, own, e->profile, written,
                                &e->kernel, err);
}

kiln_status kiln_explain(kiln_arena *a, const kiln_op_line *line, const kiln_profile *p,
                         const kiln_choose_options *choose,
                         const kiln_own_schedule *own, const kiln_workers *workers,
                         unsigned stages, kiln_buf *text, kiln_json_writer *json,
                         bool *is_wrong, kiln_err *err) {
    explain e = {.arena = a, .profile = p};
    kiln_own_kernel written;
    KILN_TRY(kiln_op_work_make(a, line, &e.work, err));
    if (own == NULL)
        KILN_TRY(make_chosen(&e, choose, err));
    else
        KILN_TRY(make_own(&e, own, stages, &written, err));
    if (e.kernel.text.assembly.n > 0)
        KILN_TRY(kiln_kernel_loops(a, &e.kernel, p, &e.loops, err));
    if (needs(stages, KILN_EXPLAIN_SUMMARY) && own == NULL)
        KILN_TRY(measure(&e, workers, err));
    const bool is_alone = (stages & (stages - 1)) == 0;
    for (int s = 0; s < KILN_N_EXPLAIN_STAGES; s++) {
        if (!needs(stages, (kiln_explain_stage)s))
            continue;
        const char *name = kiln_explain_stage_name((kiln_explain_stage)s);
        kiln_buf part;
        kiln_buf_init(&part, a);
        KILN_TRY(put_stage(&e, (kiln_explain_stage)s, &part, err));
        if (!is_alone)
            kiln_buf_printf(text, "%s== %s\n", text->n > 0 ? "\n" : "", name);
        kiln_buf_add(text, part.p, part.n);
        kiln_json_name(json, name);
        if (s == KILN_EXPLAIN_SUMMARY)
            put_summary_json(&e, json);
        else if (s == KILN_EXPLAIN_KNOBS)
            put_knobs_json(&e, json);
        else
            kiln_json_put_string(json, kiln_buf_str(&part));
    }
    *is_wrong = e.row.failure != NULL;
    return KILN_OK;
}
