/* Runs an unpacked package on zeros and prints the largest element of its first output:
 *
 *     cc runtime-example.c $(pkg-config --cflags --libs kiln-runtime) -o example
 */
#include <kiln/kiln.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    char error[KILN_ERROR_TEXT] = "usage: example FOLDER";
    kiln_model *m = argc == 2 ? kiln_model_open(argv[1], NULL, error) : NULL;
    kiln_session *s = m != NULL ? kiln_session_open(m, NULL, error) : NULL;
    kiln_port_info port;
    if (s == NULL || kiln_model_output(m, 0, &port) != 0) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }
    size_t n = port.bytes / sizeof(float), largest = 0;
    for (int i = 0; kiln_model_input(m, i, &port) == 0; i++) {
        void *data = calloc(1, port.bytes);
        kiln_session_set_input(s, i, data);
        free(data);
    }
    if (kiln_session_run(s) != 0) {
        fprintf(stderr, "%s\n", kiln_session_error(s));
        return 1;
    }
    const float *y = kiln_session_output(s, 0);
    for (size_t i = 1; i < n; i++)
        largest = y[i] > y[largest] ? i : largest;
    printf("%zu %g\n", largest, (double)y[largest]);
    kiln_session_close(s);
    kiln_model_close(m);
    return 0;
}
