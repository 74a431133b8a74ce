/* Computes one operator with oneDNN 3, whose file it is given; not for people
 * (pipeline/baselines/library). */
#include "pipeline/baselines/library/library.h"

int main(int argc, char **argv) {
    kiln_library library = kiln_library_onednn;
    library.name = "onednn3";
    library.open = kiln_onednn3_open;
    return kiln_library_main(argc, argv, &library);
}
