/* kiln report: the page and the table of a nightly run, made again from its
 * results.json. */
#include "cli/cli.h"

#include "reports/results/results.h"

enum { OPT_OUT, OPT_ANNOTATIONS, N_OPTIONS };

static const kiln_option options[N_OPTIONS] = {
    [OPT_OUT] = {"-o", "DIR",
                 "write there, results.json too (default: beside RESULTS.json)", false},
    [OPT_ANNOTATIONS] = {"--annotations", NULL,
                         "only print what needs a look, as GitHub's workflow commands",
                         false},
};

static kiln_status write(const kiln_cli_args *args, const char *dir,
                         const kiln_results_file *f, const kiln_results *r,
                         kiln_err *err) {
    kiln_buf text;
    kiln_buf_init(&text, args->arena);
    f->make(&text, r);
    const char *path = kiln_path_join(args->arena, dir, f->name);
    KILN_TRY(kiln_file_write(path, text.p, text.n, err));
    path = kiln_format(args->arena, "%s\n", path);
    return kiln_cli_output(NULL, kiln_str_from(path), err);
}

static kiln_status run(const kiln_cli_args *args, int *exit_code, kiln_err *err) {
    kiln_results r;
    const char *dir = kiln_args_get(args, OPT_OUT, NULL);
    KILN_TRY(kiln_results_read(args->arena, args->pos[0], &r, err));
    if (kiln_args_has(args, OPT_ANNOTATIONS)) {
        kiln_buf text;
        kiln_buf_init(&text, args->arena);
        kiln_results_annotations(&text, &r);
        return kiln_cli_output(NULL, kiln_buf_str(&text), err);
    }
    if (dir == NULL)
        dir = kiln_path_dir(args->arena, args->pos[0]);
    else
        KILN_TRY(kiln_dir_make(dir, err));
    /* What was read stays; elsewhere the page links to a copy. */
    for (size_t i = 0; i < kiln_results_n_files; i++)
        if (kiln_args_has(args, OPT_OUT) ||
            kiln_results_files[i].make != kiln_results_json)
            KILN_TRY(write(args, dir, &kiln_results_files[i], &r, err));
    *exit_code = KILN_EXIT_OK;
    return KILN_OK;
}

const kiln_verb kiln_verb_report = {
    .name = "report",
    .summary = "make the page and the tables of a nightly run again",
    .usage = "RESULTS.json [-o DIR] [--annotations]",
    .example = "  kiln report out/demo/results.json -o /var/www/demo\n"
               "  kiln report out/nights/current/results.json --annotations\n",
    .n_pos_min = 1,
    .n_pos_max = 1,
    .option = options,
    .n_options = N_OPTIONS,
    .run = run,
};
