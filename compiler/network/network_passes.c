/* The driver: passes over an executable graph, in order of net_passes.def. */
#include "compiler/network/executable_internal.h"
#include "compiler/network/network_place.h"

#include <string.h>

static const kiln_net_pass *const passes[] = {
#define KILN_NET_PASS(name) &kiln_net_pass_##name,
#include "compiler/network/net_passes.def"
#undef KILN_NET_PASS
};
enum { N_PASSES = sizeof passes / sizeof passes[0] };

const kiln_net_pass *kiln_net_pass_at(int i) {
    return i >= 0 && i < N_PASSES ? passes[i] : NULL;
}

const kiln_net_pass *kiln_net_pass_find(kiln_str name) {
    for (int i = 0; i < N_PASSES; i++)
        if (kiln_str_is(name, passes[i]->name))
            return passes[i];
    return NULL;
}

static void print(const kiln_net *n, const kiln_net_pass *p) {
    const kiln_network_options *o = n->o;
    if (o != NULL && o->print_after != NULL && o->print != NULL &&
        (strcmp(o->print_after, "all") == 0 || strcmp(o->print_after, p->name) == 0))
        o->print(o->printer, p->name, n);
}

/* What is printed reads back as what prints the same. */
static kiln_status check_text(const kiln_net *n, kiln_err *err) {
    kiln_arena a = {0};
    kiln_buf text, again;
    kiln_net read;
    kiln_buf_init(&text, &a);
    kiln_buf_init(&again, &a);
    kiln_net_print(&text, n);
    kiln_status st = kiln_net_parse(&a, n->g, n->profile, kiln_buf_str(&text),
                                    "executable", &read, err);
    if (st == KILN_OK) {
        kiln_net_print(&again, &read);
        if (!kiln_str_is(kiln_buf_str(&text), again.p))
            st = kiln_fail(err, KILN_ERR_BUG, "its text reads back as another");
    }
    kiln_arena_fini(&a);
    return st;
}

static void tell(const kiln_net *n, const kiln_net_pass *p) {
    if (!kiln_log_is_on(KILN_LOG_DEBUG, p->name))
        return;
    kiln_arena a = {0};
    kiln_buf text;
    kiln_buf_init(&text, &a);
    kiln_net_summary(&text, n);
    KILN_LOG(DEBUG, p->name, "'%s': %s", n->g->name, text.p);
    kiln_arena_fini(&a);
}

static kiln_status run_pass(kiln_net *n, const kiln_net_pass *p, kiln_err *err) {
    KILN_ASSERT((p->needs & ~n->facts) == 0, "pass '%s' comes too early", p->name);
    const unsigned made_before = n->facts;
    kiln_status st = p->run(n, err);
    KILN_ASSERT((n->facts & made_before) == made_before, "pass '%s' took facts back",
                p->name);
    if (st == KILN_OK) {
        n->facts |= p->makes;
        st = kiln_net_verify(n, err);
        if (st == KILN_OK && n->o != NULL && n->o->check_text)
            st = check_text(n, err);
        if (st != KILN_OK)
            kiln_note(err, "verifying what pass '%s' made", p->name);
    }
    if (st == KILN_OK) {
        tell(n, p);
        print(n, p);
    }
    return st;
}

/* All that make something new. */
static kiln_status run_passes(kiln_net *n, kiln_err *err) {
    for (int i = 0; i < N_PASSES; i++)
        if ((passes[i]->makes & ~n->facts) != 0)
            KILN_TRY(run_pass(n, passes[i], err));
    return KILN_OK;
}

kiln_status kiln_compile(kiln_arena *a, const kiln_graph *g, const kiln_profile *p,
                         const kiln_network_options *o, kiln_net *out, kiln_err *err) {
    KILN_ASSERT(g->outputs.n > 0, "'%s' is compiled and has no output", g->name);
    *out = (kiln_net){.arena = a, .g = g, .profile = p, .o = o};
    const kiln_status st = run_passes(out, err);
    for (size_t i = 0; i < out->kernel.n; i++)
        kiln_net_made(&out->kernel.v[i]);
    KILN_ASSERT(st != KILN_OK || out->step.n == 0 || out->device.n > 0,
                "'%s' has steps and nothing that runs them", g->name);
    if (st != KILN_OK)
        kiln_note(err, "compiling '%s' for profile '%s'", g->name, p->name);
    return st;
}

#define COPY_OF(a, vec)                                                                \
    ((vec).v = kiln_arena_dup((a), (vec).v, (vec).n * sizeof *(vec).v),                \
     (vec).cap = (vec).n)

/* What the host does alone is as it was before it was placed, but for offsets. */
kiln_status kiln_net_on_devices(kiln_arena *a, const kiln_net *n,
                                const kiln_placement *o, kiln_net *out, kiln_err *err) {
    KILN_ASSERT(n->device.n == 1, "'%s' is placed on %zu devices already", n->g->name,
                n->device.n);
    kiln_network_options *options = kiln_new(a, kiln_network_options);
    if (n->o != NULL)
        *options = *n->o;
    options->placement = o;
    *out = *n;
    out->arena = a;
    out->o = options;
    out->facts &= ~(unsigned)(KILN_NET_ON_DEVICES | KILN_NET_PLANNED);
    COPY_OF(a, out->slot);
    COPY_OF(a, out->step);
    COPY_OF(a, out->open);
    out->device.v = NULL;
    out->device.n = out->device.cap = 0;
    const kiln_status st = run_passes(out, err);
    if (st != KILN_OK)
        kiln_note(err, "placing '%s' on %d devices", n->g->name, o->n_devices);
    return st;
}
