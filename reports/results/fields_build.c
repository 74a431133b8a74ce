/* What `kiln build` writes, as a table (docs/build-json.md). */
#include "reports/results/reports_fields.h"

#define T kiln_doc_ledger
static const kiln_record_field ledger_rows[] = {
    KILN_MEMBER(op, "the operator; `all`"),
    KILN_MEMBER_LIST("origins", coverage, kiln_results_coverage_table,
                     "those that occur; times are not known yet"),
    KILN_MEMBER(copies, "steps without a kernel"),
    KILN_MEMBER(tried, "configurations that the user's database has measurements of "
                       "for those that are `tuned`, 64 of each at most"),
};
KILN_RECORD_STATIC(ledger, ledger_rows, "A row of the ledger")
#undef T

#define T kiln_doc_proof
static const kiln_record_field proof_rows[] = {
    KILN_MEMBER(proved, "false: `--no-verify`, and nothing else is known"),
    KILN_MEMBER(device, "that ran it"),
    KILN_MEMBER(steps, "that compute or move"),
    KILN_MEMBER(proved_steps, "of them"),
    KILN_MEMBER(unknown_steps, "of operators without a bound"),
    KILN_MEMBER(unseen_steps, "of branches not taken"),
    KILN_MEMBER(elements, "of the steps' results"),
    KILN_MEMBER(compared_elements, "of them"),
    KILN_MEMBER(time_ms, "that it took"),
};
KILN_RECORD_STATIC(proof, proof_rows, "The proof")
#undef T

#define T kiln_doc_selftest
static const kiln_record_field selftest_rows[] = {
    KILN_MEMBER(inputs, "the law they were drawn by"),
    KILN_MEMBER(elements, "of all outputs"),
    KILN_MEMBER(elements_held, "that have a bound; the others hang on rounding"),
    KILN_MEMBER(elements_held_weakly, "of these, by a quarter of their output or more"),
};
KILN_RECORD_STATIC(selftest, selftest_rows, "The self-test")
#undef T

#define T kiln_doc_layout_search
static const kiln_record_field search_rows[] = {
    KILN_MEMBER(greedy_us, "that greedy choices would take"),
    KILN_MEMBER(search_us, "that what the search found takes"),
    KILN_MEMBER(chosen_us,
                "of both what was built: greedy, where little is gained by estimates"),
    KILN_MEMBER(greedy_conversions, "that greedy choices would need"),
    KILN_MEMBER(steps, "whose layouts were looked at"),
    KILN_MEMBER(ways, "to do them: templates, configurations, layouts"),
    KILN_MEMBER(measured_steps, "of which the greedy way is measured; the rest is "
                                "estimated by the profile's machine model"),
    KILN_MEMBER(changed_steps, "done otherwise than greedy would"),
    KILN_MEMBER(least, "false: the network was too large to be sure that nothing "
                       "is cheaper"),
};
KILN_RECORD_STATIC(search, search_rows, "A search over layouts")
#undef T

#define T kiln_doc_build
static const kiln_record_field build_rows[] = {
    KILN_MEMBER(model, "its name"),
    KILN_MEMBER(profile, "that code was made for"),
    KILN_MEMBER(numerics, "`strict` or `fast`"),
    KILN_MEMBER_AS("archive", archive.path, "the file"),
    KILN_MEMBER_AS("bytes", archive.bytes, "its size"),
    KILN_MEMBER_AS("sha256", archive.sha256, "its hash"),
    KILN_MEMBER(multiply_adds, "of one run, after the graph passes"),
    KILN_MEMBER(steps, "of the plan"),
    KILN_MEMBER(conversions, "of them, which only change a layout"),
    KILN_MEMBER_OPTIONAL("layout_search", layout_search, search,
                         "what a search over layouts expects, on one core; null: "
                         "nobody searched"),
    KILN_MEMBER(kernels, "different ones"),
    KILN_MEMBER(ready_kernels,
                "of them, whose configuration is a [ready record](ready-records.md)"),
    KILN_MEMBER(predicted_kernels, "of them, whose configuration a model of other "
                                   "work chose ([tuning.md](tuning.md))"),
    KILN_MEMBER(time_ms, "of the whole build, the proof included"),
    KILN_MEMBER_OBJECT("proof", proof, proof,
                       "what the package was held to before it appeared"),
    KILN_MEMBER_OBJECT("selftest", selftest, selftest, "what it holds"),
    KILN_MEMBER_OBJECT("memory", memory, kiln_results_memory_table, "of a session"),
    KILN_MEMBER_LIST("coverage", ledger, ledger, "the ledger: a row for each operator"),
    KILN_MEMBER_OBJECT("coverage_of_all", all, ledger, "its sum"),
};
KILN_RECORD(kiln_build_table, build_rows, "A build")
#undef T

#define T kiln_doc_builds
static const kiln_record_field builds_rows[] = {
    KILN_MEMBER_LIST("builds", build, kiln_build_table,
                     "in the order of profiles asked for"),
};
KILN_RECORD_STATIC(builds, builds_rows, "The document")
#undef T

const kiln_record_document kiln_build_document = {.table = &builds,
                                                  .docs = "docs/build-json.md",
                                                  .what = "'kiln build --json'",
                                                  .is_list = true};
