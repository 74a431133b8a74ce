/* What `kiln bench --ops` writes of a list, as a table (docs/bench-ops-json.md). */
#include "reports/results/reports_fields.h"

#define T kiln_doc_op_output
static const kiln_record_field output_rows[] = {
    KILN_MEMBER(ok, "right"),
    KILN_MEMBER(problem, "what is wrong"),
    KILN_MEMBER(worst_error_of_bound, "1: as far off as the operator's bound allows"),
    KILN_MEMBER(max_abs_error, "the largest"),
    KILN_MEMBER(checked, "elements that were compared"),
    KILN_MEMBER(elements, "of the output"),
};
KILN_RECORD_STATIC(output, output_rows, "The output of an operator")
#undef T

#define T kiln_doc_op_time
static const kiln_record_field time_rows[] = {
    KILN_MEMBER(slices, "that were timed"),
    KILN_MEMBER(disturbed_slices,
                "others had a processor meanwhile; they count only where fewer "
                "than seven are left without them"),
    KILN_MEMBER(runs, "of all slices"),
    KILN_MEMBER(gbs, "GB/s of the bytes that it must read and write"),
    KILN_MEMBER(peak_share, "median over pairs of neighbouring slices"),
    KILN_MEMBER(memory_ms, "what the bandwidth allows of where its data lie"),
    KILN_MEMBER(instructions_ms,
                "what the kernel's operations, loads and stores take as full vectors "
                "on the machine model's ports; 0: not told (GPUs)"),
    KILN_MEMBER(roofline_ms, "the longest of these, and of flops at the peak"),
    KILN_MEMBER(bound, "what bounds it: `compute` (multiply-adds), `instr` "
                       "(instructions), or a level of memory"),
    KILN_MEMBER_OBJECT("peak", peak, kiln_results_peak_table,
                       "medians of the slices between"),
};
KILN_RECORD_STATIC(timing, time_rows, "How an operator was timed")
#undef T

#define T kiln_doc_code
static const kiln_record_field code_rows[] = {
    KILN_MEMBER(bytes, "of the object"),
    KILN_MEMBER(workspace_bytes, "that it wants"),
    KILN_MEMBER(scratch_bytes, "of each thread"),
    KILN_MEMBER(forks, "how often threads begin"),
    KILN_MEMBER(parallel_iterations, "that are dealt out"),
    KILN_MEMBER(gain_on_2_threads, "as the work is dealt out"),
    KILN_MEMBER(innermost_loops, "in the machine code"),
    KILN_MEMBER(hot_instructions, "of the hottest of them"),
    KILN_MEMBER(hot_vector_fma, "vector multiply-adds among them"),
    KILN_MEMBER(hot_vector_registers, "that they use"),
    KILN_MEMBER(hot_spills, "to the stack"),
    KILN_MEMBER(lower_ms, "from the schedule to loops"),
    KILN_MEMBER(codegen_ms, "from loops to the object"),
};
KILN_RECORD_STATIC(code, code_rows, "The code of an operator")
#undef T

#define T kiln_doc_op
static const kiln_record_field op_rows[] = {
    KILN_MEMBER_PART(op, kiln_results_op_table),
    KILN_MEMBER(workload,
                "the key by which records are found; null where it was not read"),
    KILN_MEMBER_JSON(config, "that made the kernel; null where nothing was chosen"),
    KILN_MEMBER(refusal, "why it was not measured; null where it was, or its "
                         "output is wrong"),
    KILN_MEMBER(failure,
                "how its kernel ended where that was no good end: `crash`, "
                "`timeout`, `out-of-bounds`, `wrong`, ... ([workers.md](workers.md)); "
                "null where it was measured or could not be made"),
    KILN_MEMBER(flops, "of one call"),
    KILN_MEMBER(bytes, "that it must read and write, once"),
    KILN_MEMBER_OPTIONAL("output", output, output, "null: it was refused, or failed"),
    KILN_MEMBER_OPTIONAL("time", time, timing,
                         "null: it was refused, failed, or is wrong"),
    KILN_MEMBER_OPTIONAL("code", code, code, "null: there is none"),
    KILN_MEMBER_NUMBERS("samples_ms", sample_ms,
                        "with `--baselines`: kiln's own, in the order of rounds"),
    KILN_MEMBER_NUMBERS("disturbed_at", disturbed_at,
                        "places among them, from 0, of those that were disturbed"),
};
KILN_RECORD(kiln_op_table, op_rows, "A line of the list")
#undef T

#define T kiln_doc_standing
static const kiln_record_field standing_rows[] = {
    KILN_MEMBER(name, "of the library"),
    KILN_MEMBER(version, "null: absent, or nobody could tell"),
    KILN_MEMBER(measured, "operators"),
    KILN_MEMBER_OBJECT("ratio", ratio, kiln_results_ratio_table,
                       "geometric mean of kiln / baseline"),
};
KILN_RECORD_STATIC(standing, standing_rows, "A baseline over all operators")
#undef T

#define T kiln_doc_ops
static const kiln_record_field ops_rows[] = {
    KILN_MEMBER_PART(own, kiln_doc_own_table),
    KILN_MEMBER(profile, "that code was made for"),
    KILN_MEMBER(threads, "that it was run with"),
    KILN_MEMBER_OBJECT("peak", peak, kiln_results_peak_table,
                       "best of slices taken before anything else"),
    KILN_MEMBER_LIST("levels", level, kiln_results_level_table,
                     "bandwidth, as far as operators needed it"),
    KILN_MEMBER_LIST("ops", op, kiln_op_table, "in the list's order"),
    KILN_MEMBER_LIST("baselines", baseline, standing, "of each library asked for"),
    KILN_MEMBER(wrong, "operators whose output was"),
    KILN_MEMBER(refused, "operators that could not be made"),
    KILN_MEMBER(failed, "operators whose kernels crashed, hung, or did what they "
                        "must not"),
    KILN_MEMBER_POSITIVE(mean_peak_share,
                         "geometric, of what was measured; null: nothing was"),
    KILN_MEMBER_AS("interrupted", is_interrupted,
                   "Ctrl-C came; there are fewer operators than were asked for"),
};
KILN_RECORD_STATIC(ops, ops_rows, "The document")
#undef T

const kiln_record_document kiln_ops_document = {
    .format_key = "format",
    .format = "kiln-ops-1",
    .table = &ops,
    .docs = "docs/bench-ops-json.md",
    .what = "made by 'kiln bench --ops --json'"};
