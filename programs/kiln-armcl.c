/* Computes one operator with the Arm Compute Library for kiln; not for people
 * (pipeline/baselines/library). */
#include "pipeline/baselines/library/library.h"

int main(int argc, char **argv) {
    return kiln_library_main(argc, argv, &kiln_library_armcl);
}
