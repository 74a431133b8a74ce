/* What `kiln tune` writes, as a table (docs/tune-json.md). */
#include "reports/results/reports_fields.h"

#define T kiln_doc_settled
static const kiln_record_field settled_rows[] = {
    KILN_MEMBER_AS("cut", is_cut, "no time was left, nothing was recorded"),
    KILN_MEMBER(works, "that were compared"),
    KILN_MEMBER(changed, "whose best there is another one than alone"),
    KILN_MEMBER(alone_ns, "of a run of the network, with the best alone"),
    KILN_MEMBER(chosen_ns, "the same, as chosen"),
};
KILN_RECORD_STATIC(settled, settled_rows, "In the network")
#undef T

#define T kiln_doc_layouts
static const kiln_record_field layouts_rows[] = {
    KILN_MEMBER(kernels, "in other layouts than the rules' that were looked at"),
    KILN_MEMBER(conversions, "of values, from one layout to another"),
    KILN_MEMBER(trials, "of these, of this run; not among the new ones above"),
    KILN_MEMBER(changed, "steps that a search over layouts does in another way"),
    KILN_MEMBER(greedy_ns, "of a run of the network, expected in the rules' layouts"),
    KILN_MEMBER(search_ns, "the same, in the layouts that the search chooses"),
    KILN_MEMBER(ran_greedy_ns, "measured, both networks in turns; 0: they were not"),
    KILN_MEMBER(ran_search_ns, "the same, in the layouts that the search chooses"),
};
KILN_RECORD_STATIC(layouts, layouts_rows, "In other layouts")
#undef T

#define T kiln_doc_tune
static const kiln_record_field tune_rows[] = {
    KILN_MEMBER_PART(own, kiln_doc_own_table),
    KILN_MEMBER_PART(tuning, kiln_results_tuning_table),
    KILN_MEMBER(measured_again, "noisy ones that seemed best and were measured "
                                "once more; they are no new trials"),
    KILN_MEMBER(unbelieved_records,
                "on record and good, but faster than their machine allows: not "
                "used ([tuning-db.md](tuning-db.md))"),
    KILN_MEMBER(slices, "of all trials"),
    KILN_MEMBER(disturbed_slices, "of them: others had the processor"),
    KILN_MEMBER_AS("interrupted", is_interrupted,
                   "Ctrl-C came; everything that had finished is on record"),
    KILN_MEMBER_LIST(
        "trials", trials, kiln_results_count_table,
        "of the new ones, how many of each kind: `good`, `slow`, and [kinds of "
        "failure](workers.md); kinds that did not occur are left out"),
    KILN_MEMBER_OPTIONAL(
        "in_network", settled, settled,
        "of a model, where kernels were compared between its own steps; else null"),
    KILN_MEMBER_OPTIONAL("layouts", layouts, layouts,
                         "of a model, where other layouts were looked at; else null"),
};
KILN_RECORD_STATIC(tune, tune_rows, "The document")
#undef T

const kiln_record_document kiln_tune_document = {.format_key = "format",
                                                 .format = "kiln-tune-1",
                                                 .table = &tune,
                                                 .docs = "docs/tune-json.md",
                                                 .what = "made by 'kiln tune --json'"};
