/* What a search wants to have measured. */
#include "compiler/network/wishes.h"
#include "compiler/network/chooser/chooser_search_internal.h"

#include <string.h>

/* Estimates of kernels and conversions are good to so much: what would be chosen if it
 * cost so much less is measured. */
static const double hope = 0.85;

static void add(kiln_arena *a, kiln_net_wishes *out, const kiln_net_wish *w) {
    for (size_t i = 0; i < out->list.n; i++) {
        kiln_net_wish *x = &out->list.v[i];
        if (strcmp(x->workload, w->workload) == 0 && strcmp(x->tmpl, w->tmpl) == 0 &&
            strcmp(x->config, w->config) == 0) {
            x->calls += w->calls;
            return;
        }
    }
    kiln_net_wish made = *w;
    made.workload = kiln_str_dup(a, w->workload);
    made.config = kiln_str_dup(a, w->config);
    kiln_vec_push(a, &out->list, made);
}

static void add_way(kiln_arena *a, const kiln_net_site *site, const kiln_net_way *way,
                    kiln_net_wishes *out) {
    if (way->is_known)
        return;
    const kiln_net_wish w = {.workload = kiln_str_dupv(a, site->work.key),
                             .tmpl = way->choice->tmpl->name,
                             .config = way->choice->text,
                             .calls = site->runs};
    add(a, out, &w);
}

/* Of work that nobody tunes the greedy way too: costs compare with measured ones. */
static void add_ways(kiln_arena *a, const kiln_net_survey *s,
                     const kiln_net_solution *x, kiln_net_wishes *out) {
    for (size_t i = 0; i < s->site.n; i++) {
        const kiln_net_site *site = &s->site.v[i];
        if (x->way[i] == 0 || !kiln_net_is_measured(site))
            continue;
        add_way(a, site, &site->way.v[x->way[i]], out);
        if (!kiln_net_is_tuned(site))
            add_way(a, site, &site->way.v[0], out);
    }
}

static void add_conversions(kiln_arena *a, const kiln_net_survey *s,
                            kiln_net_wishes *out) {
    for (size_t i = 0; i < s->conversion.entries.n; i++) {
        const kiln_net_conversion *c = s->conversion.entries.v[i].value;
        if (c->is_known || c->workload == NULL || !(c->calls > 0))
            continue;
        const kiln_net_wish w = {
            .workload = c->workload,
            .tmpl = kiln_template_convert.name,
            .config = c->config,
            .is_conversion = true,
            .type = kiln_type_make(c->from.dtype, c->from.rank, c->from.dim),
            .calls = c->calls};
        add(a, out, &w);
    }
}

/* Greedy's conversions alone where nothing looks better. */
static kiln_status look(kiln_arena *a, kiln_net_survey *s, kiln_net_wishes *out,
                        kiln_err *err) {
    kiln_net_solution x;
    kiln_net_rehearsal r;
    int n_changed = 0;
    KILN_TRY(kiln_net_survey_make(s, err));
    KILN_TRY(kiln_net_account(s, s->greedy, &out->greedy_ns, err));
    KILN_TRY(kiln_net_solve(s, &x, err));
    out->search_ns = out->greedy_ns;
    const kiln_net_choice **given = kiln_net_choices_of(s, &x, &n_changed);
    if (n_changed > 0) {
        KILN_TRY(kiln_net_rehearse(s->n, given, &r, err));
        const kiln_status st = kiln_net_account(s, &r, &out->search_ns, err);
        kiln_net_rehearsed(&r);
        KILN_TRY(st);
    }
    if (out->search_ns < out->greedy_ns)
        add_ways(a, s, &x, out);
    add_conversions(a, s, out);
    return KILN_OK;
}

static kiln_status make(kiln_arena *a, kiln_arena *scratch, kiln_net *n,
                        kiln_net_wishes *out, kiln_err *err) {
    kiln_net_rehearsal greedy;
    KILN_TRY(kiln_net_pass_fuse.run(n, err));
    n->facts |= KILN_NET_FUSED;
    KILN_TRY(kiln_net_rehearse(n, NULL, &greedy, err));
    kiln_net_survey s = {.arena = scratch, .n = n, .greedy = &greedy, .hope = hope};
    const kiln_status st = look(a, &s, out, err);
    kiln_net_rehearsed(&greedy);
    return st;
}

kiln_status kiln_network_wishes(kiln_arena *a, const kiln_graph *g,
                                const kiln_profile *p, const kiln_choose_options *o,
                                kiln_net_wishes *out, kiln_err *err) {
    kiln_arena scratch = {0};
    const kiln_network_options options = {.choose = o};
    kiln_net n = {.arena = &scratch, .g = g, .profile = p, .o = &options};
    *out = (kiln_net_wishes){.greedy_ns = 0};
    const kiln_status st = make(a, &scratch, &n, out, err);
    if (st != KILN_OK)
        kiln_note(err, "asking which layouts of '%s' are to be measured", g->name);
    kiln_arena_fini(&scratch);
    return st;
}
