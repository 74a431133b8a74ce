/* Times that a runner elsewhere tells of a network's run and its steps, held against
 * what no machine does (kiln_least_ns of compiler/target). */
#include "pipeline/remote/least.h"

#include <inttypes.h>

static const double coarse_ns = 1000;

static double written_by(const kiln_network_kernel *k) {
    double bytes = 0;
    for (int i = k->n_operands - k->n_written; i < k->n_operands; i++)
        bytes += (double)kiln_type_elems(&k->operand[i]) *
                 (double)kiln_dtype_bytes(k->operand[i].dtype);
    return bytes;
}

const kiln_step_least *kiln_least_of(kiln_arena *a, const kiln_network *n) {
    const kiln_net *net = n->net;
    kiln_step_least *least = kiln_array(a, kiln_step_least, net->step.n);
    int depth = 0;
    for (size_t i = 0; i < net->step.n; i++) {
        const kiln_net_step *s = &net->step.v[i];
        depth += s->kind == KILN_NET_IF || s->kind == KILN_NET_LOOP;
        depth -= s->kind == KILN_NET_END;
        least[i] = (kiln_step_least){.flops = 0};
        if (s->kind != KILN_NET_CALL || depth > 0)
            continue;
        const kiln_network_kernel *k = &n->kernel.v[s->kernel];
        least[i].flops = k->least_flops;
        least[i].written_bytes = written_by(k);
    }
    KILN_ASSERT(depth == 0, "%d blocks of '%s' have no end", depth, n->name);
    return least;
}

static const char *text(kiln_arena *a, const kiln_profile *p, int threads,
                        const char *what, double told, double least) {
    return kiln_format(a,
                       "told of %.4g ns for %s: no machine of profile '%s' takes less "
                       "than %.4g ns by %d thread%s",
                       told, what, p->name, least, threads, kiln_plural(threads));
}

const char *kiln_least_broken(kiln_arena *a, const kiln_profile *p, int threads,
                              const kiln_step_least *least, size_t n_steps,
                              int64_t runs, const kiln_wire_told *told) {
    double all = 0;
    KILN_ASSERT(threads > 0 && runs >= 0, "%d runs on %d threads", (int)runs, threads);
    for (size_t i = 0; i < n_steps; i++) {
        const double ns = (double)runs * kiln_least_ns(p, threads, least[i].flops,
                                                       least[i].written_bytes);
        all += ns;
        if (i < told->n_steps &&
            (double)told->step_ns[i] + (double)runs * coarse_ns < ns)
            return text(a, p, threads, kiln_format(a, "step %zu", i + 1),
                        (double)told->step_ns[i], ns);
    }
    return (double)told->wall_ns + coarse_ns < all
               ? text(a, p, threads,
                      kiln_format(a, "%" PRId64 " run%s of the network", runs,
                                  kiln_plural(runs)),
                      (double)told->wall_ns, all)
               : NULL;
}
