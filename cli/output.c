/* What a verb found goes to stdout or to a file. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

kiln_status kiln_cli_output(const char *path, kiln_str text, kiln_err *err) {
    if (path != NULL && strcmp(path, "-") != 0)
        return kiln_file_write(path, text.p, text.n, err);
    if (fwrite(text.p, 1, text.n, stdout) != text.n || fflush(stdout) != 0)
        return kiln_fail(err, KILN_ERR_IO, "writing to standard output: %s",
                         strerror(errno));
    return KILN_OK;
}

void kiln_cli_answer_init(kiln_cli_answer *r, kiln_arena *a) {
    kiln_buf_init(&r->text, a);
    kiln_buf_init(&r->json, a);
    kiln_json_writer_init(&r->w, &r->json);
}

kiln_status kiln_cli_answer_give(kiln_cli_answer *r, const kiln_cli_args *args,
                                 int json_option, kiln_err *err) {
    const char *path = kiln_args_get(args, json_option, NULL);
    KILN_ASSERT(r->w.depth == 0 && !r->w.after_key,
                "JSON of a verb is given before it ends, %d deep", r->w.depth);
    if (r->json.n > 0 && r->json.p[r->json.n - 1] != '\n')
        kiln_buf_puts(&r->json, "\n");
    if (path != NULL)
        KILN_TRY(kiln_cli_output(path, kiln_buf_str(&r->json), err));
    if (path != NULL && strcmp(path, "-") == 0)
        return KILN_OK;
    return kiln_cli_print(args->arena, kiln_buf_str(&r->text), err);
}
