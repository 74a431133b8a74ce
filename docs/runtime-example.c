/* A filter: an unpacked package's inputs from stdin, its outputs to stdout. */
#include <kiln/kiln.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    return 1;
}

int main(int argc, char **argv) {
    char error[KILN_ERROR_TEXT] = "usage: example FOLDER <inputs >outputs";
    kiln_model *m = argc == 2 ? kiln_model_open(argv[1], NULL, error) : NULL;
    kiln_session *s = m != NULL ? kiln_session_open(m, NULL, error) : NULL;
    kiln_port_info port;
    if (s == NULL)
        return fail(error);
    for (int i = 0; kiln_model_input(m, i, &port) == 0; i++) {
        void *data = malloc(port.bytes);
        if (data == NULL || fread(data, 1, port.bytes, stdin) != port.bytes)
            return fail("an input is not whole");
        kiln_session_set_input(s, i, data); /* copies */
        free(data);
    }
    if (kiln_session_run(s) != 0)
        return fail(kiln_session_error(s));
    for (int i = 0; kiln_model_output(m, i, &port) == 0; i++)
        fwrite(kiln_session_output(s, i), 1, port.bytes, stdout);
    kiln_session_close(s);
    kiln_model_close(m);
    return 0;
}
