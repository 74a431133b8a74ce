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

kiln_status kiln_cli_report(const char *json_path, const kiln_buf *json,
                            const kiln_buf *text, kiln_err *err) {
    if (json_path != NULL)
        KILN_TRY(kiln_cli_output(json_path, kiln_buf_str(json), err));
    if (json_path != NULL && strcmp(json_path, "-") == 0)
        return KILN_OK;
    return kiln_cli_output(NULL, kiln_buf_str(text), err);
}
