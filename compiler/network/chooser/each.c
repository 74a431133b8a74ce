/* each: every convolution in blocks, as `greedy` has it, and everything else row-major:
 * what a convolution reads is converted before it, what it makes is converted back, also
 * where the next one would take it as it is. The second row of NeoCPU's Table 3
 * (ATC'19, section 4.2.1). Two that read one value in the same blocks share its
 * conversion. */
#include "compiler/network/chooser/plain.h"

static kiln_status choose(kiln_net *n, kiln_err *err) {
    return kiln_net_choose_plain(n, true, err);
}

const kiln_net_chooser kiln_net_chooser_each = {
    .name = "each",
    .doc = "convolutions in blocks, converted before and behind each, for comparison",
    .choose = choose,
    .is_for_study = true,
};
