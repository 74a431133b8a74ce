/* kiln zoo: networks of published architectures with synthetic weights, as ONNX files.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>

#include "zoo/zoo.h"

enum { OPT_OUT, OPT_SEED, OPT_JSON, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_OUT] = {"-o", "FILE", "make: the file to write", false},
    [OPT_SEED] = {"--seed", "S", "make: a number that the weights follow from (1)",
                  false},
    [OPT_JSON] = {"--json", "FILE",
                  "list, show: write the findings as JSON ('-': standard output)",
                  false},
};

static kiln_status refuse(const kiln_cli_args *args, const char *action, int option,
                          kiln_err *err) {
    if (!kiln_args_has(args, option))
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_ARG, "kiln zoo %s takes no option '%s'", action,
                     options[option].name);
}

static kiln_status list(const kiln_cli_args *args, kiln_err *err) {
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_array(&answer.w);
    kiln_buf_printf(&answer.text, "%-14s %12s %14s  %s\n", "name", "parameters",
                    "multiply-adds", "what");
    const kiln_zoo_network *n;
    for (int i = 0; (n = kiln_zoo_at(i)) != NULL; i++) {
        kiln_buf_printf(&answer.text, "%-14s %12" PRId64 " %14" PRId64 "  %s\n",
                        n->name, n->n_params, n->muladds, n->doc);
        kiln_json_begin_object(&answer.w);
        kiln_json_member_str(&answer.w, "name", n->name);
        kiln_json_member_str(&answer.w, "doc", n->doc);
        kiln_json_member_str(&answer.w, "source", n->source);
        kiln_json_member_i64(&answer.w, "parameters", n->n_params);
        kiln_json_member_i64(&answer.w, "multiply_adds", n->muladds);
        kiln_json_end_object(&answer.w);
    }
    kiln_json_end_array(&answer.w);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

/* What show says about values: the graph's inputs or outputs. */
static void put_values(kiln_buf *text, kiln_json_writer *w, const kiln_graph *g,
                       bool inputs) {
    const size_t n = inputs ? g->inputs.n : g->outputs.n;
    const char *const what = inputs ? "inputs" : "outputs";
    kiln_json_name(w, what);
    kiln_json_begin_array(w);
    for (size_t i = 0; i < n; i++) {
        const kiln_value *v = inputs ? g->inputs.v[i] : g->outputs.v[i];
        const char *const name = inputs ? v->name : g->output_names.v[i];
        const char *const type = kiln_type_text(text->arena, &v->type);
        kiln_buf_printf(text, "%-16s %s: %s\n", i == 0 ? what : "", name, type);
        kiln_json_begin_object(w);
        kiln_json_member_str(w, "name", name);
        kiln_json_member_str(w, "type", type);
        kiln_json_end_object(w);
    }
    kiln_json_end_array(w);
}

/* Counts what `make` would write, so that what is shown is never what a row claims. */
static kiln_status show(const kiln_cli_args *args, const kiln_zoo_network *n,
                        kiln_err *err) {
    kiln_graph *g = NULL;
    kiln_zoo_facts facts;
    KILN_TRY(kiln_zoo_import(args->arena, n, 1, KILN_ZOO_OUTLINE, &g, err));
    kiln_zoo_count(args->arena, g, &facts);
    kiln_cli_answer answer;
    kiln_cli_answer_init(&answer, args->arena);
    kiln_json_begin_object(&answer.w);
    kiln_json_member_str(&answer.w, "name", n->name);
    kiln_json_member_str(&answer.w, "doc", n->doc);
    kiln_json_member_str(&answer.w, "source", n->source);
    kiln_buf_printf(&answer.text, "%-16s %s\n%-16s %s\n%-16s %s\n", "name", n->name,
                    "what", n->doc, "source", n->source);
    put_values(&answer.text, &answer.w, g, true);
    put_values(&answer.text, &answer.w, g, false);
    kiln_json_member_i64(&answer.w, "nodes", (int64_t)g->nodes.n);
    kiln_json_member_i64(&answer.w, "parameters", facts.n_params);
    kiln_json_member_i64(&answer.w, "multiply_adds", facts.muladds);
    kiln_json_member_i64(&answer.w, "constant_bytes", facts.constant_bytes);
    kiln_json_end_object(&answer.w);
    kiln_buf_printf(&answer.text, "%-16s %zu\n", "nodes", g->nodes.n);
    kiln_buf_printf(&answer.text,
                    "%-16s %" PRId64 " (%" PRId64 " bytes of constants)\n",
                    "parameters", facts.n_params, facts.constant_bytes);
    kiln_buf_printf(&answer.text, "%-16s %" PRId64 "\n", "multiply-adds",
                    facts.muladds);
    return kiln_cli_answer_give(&answer, args, OPT_JSON, err);
}

static kiln_status make(const kiln_cli_args *args, const kiln_zoo_network *n,
                        kiln_err *err) {
    const char *const path = kiln_args_get(args, OPT_OUT, NULL);
    const char *const seed_text = kiln_args_get(args, OPT_SEED, "1");
    int64_t seed;
    if (path == NULL)
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln zoo make needs a file to write: kiln zoo make %s -o "
                         "%s.onnx",
                         n->name, n->name);
    if (!kiln_parse_i64(kiln_str_from(seed_text), &seed) || seed < 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "--seed must be a number of 0 or more, is '%s'",
                         kiln_str_printable(args->arena, kiln_str_from(seed_text), 64));
    return kiln_zoo_write(n, (uint64_t)seed, path, err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    (void)exit_code;
    const char *const action = args->pos[0];
    const bool is_list = strcmp(action, "list") == 0;
    const bool is_make = strcmp(action, "make") == 0;
    if (!is_list && !is_make && strcmp(action, "show") != 0)
        return kiln_fail(err, KILN_ERR_ARG,
                         "kiln zoo does list, show or make, not '%s'",
                         kiln_str_printable(args->arena, kiln_str_from(action), 64));
    if (args->n_pos != (is_list ? 1 : 2))
        return kiln_fail(err, KILN_ERR_ARG, "kiln zoo %s takes %s", action,
                         is_list ? "no name"
                                 : "the name of a network; see kiln zoo list");
    if (is_make)
        KILN_TRY(refuse(args, action, OPT_JSON, err));
    else {
        KILN_TRY(refuse(args, action, OPT_OUT, err));
        KILN_TRY(refuse(args, action, OPT_SEED, err));
    }
    if (is_list)
        return list(args, err);
    const kiln_zoo_network *n = NULL;
    KILN_TRY(kiln_zoo_find(args->pos[1], &n, err));
    return is_make ? make(args, n, err) : show(args, n, err);
}

const kiln_verb kiln_verb_zoo = {
    .name = "zoo",
    .summary = "write networks of published architectures with synthetic weights",
    .usage = "list | show NAME | make NAME -o FILE.onnx [--seed S]",
    .example = "  kiln zoo list\n"
               "  kiln zoo show resnet18 --json -\n"
               "  kiln zoo make resnet18 -o resnet18.onnx\n",
    .n_pos_min = 1,
    .n_pos_max = 2,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
