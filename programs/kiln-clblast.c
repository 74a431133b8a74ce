/* Computes one matrix product with CLBlast, whose file it is given; not for people
 * (pipeline/baselines/library). */
#include "pipeline/baselines/library/library.h"

int main(int argc, char **argv) {
    return kiln_library_main(argc, argv, &kiln_library_clblast);
}
