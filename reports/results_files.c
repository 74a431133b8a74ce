/* The files that are made of results: a row each. */
#include "reports/results/results.h"

const kiln_results_file kiln_results_files[] = {
    {"results.json", kiln_results_json},       {"results.csv", kiln_results_csv},
    {"results.junit.xml", kiln_results_junit}, {"summary.md", kiln_results_markdown},
    {"index.html", kiln_results_html},
};
const size_t kiln_results_n_files =
    sizeof kiln_results_files / sizeof kiln_results_files[0];
