/* The five largest of a network's first output: top5 FOLDER INPUT.f32 */
#include <kiln/kiln.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    char error[KILN_ERROR_TEXT] = "usage: top5 FOLDER INPUT.f32";
    kiln_port_info in = {0}, out = {0};
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    kiln_model *m = argc == 3 ? kiln_model_open(argv[1], NULL, error) : NULL;
    kiln_session *s = m != NULL ? kiln_session_open(m, NULL, error) : NULL;
    if (s == NULL || kiln_model_input(m, 0, &in) != 0 || kiln_model_output(m, 0, &out) != 0)
        return fprintf(stderr, "%s\n", error), 1;
    void *data = malloc(in.bytes + 1);
    float *score = malloc(out.bytes + 1);
    if (file == NULL || fread(data, 1, in.bytes + 1, file) != in.bytes || strcmp(out.dtype, "f32") != 0)
        return fprintf(stderr, "'%s' must have %zu bytes, the output be f32\n", argv[2], in.bytes), 1;
    if (kiln_session_set_input(s, 0, data) != 0 || kiln_session_run(s) != 0)
        return fprintf(stderr, "%s\n", kiln_session_error(s)), 1;
    memcpy(score, kiln_session_output(s, 0), out.bytes);
    const size_t n = out.bytes / sizeof *score;
    for (size_t k = 0; k < 5 && k < n; k++) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++)
            best = score[i] > score[best] ? i : best;
        printf("%zu %.5f\n", best, score[best]);
        score[best] = -INFINITY; /* shown */
    }
    kiln_session_close(s);
    kiln_model_close(m);
}
