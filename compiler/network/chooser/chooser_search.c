/* search: templates, configurations and layouts of all calls together, by what kernels
 * and conversions cost (NeoCPU, ATC'19, section 3.3). The greedy choice is one of those
 * that are compared, and stays where nothing is expected to be clearly faster: both are
 * rehearsed, and what these rehearsals come to decides. */
#include "compiler/network/chooser/chooser_search_internal.h"

static const char *layouts_text(kiln_arena *a, const kiln_net_site *site,
                                const kiln_layout *layout) {
    kiln_buf text;
    kiln_buf_init(&text, a);
    for (int i = 0; i < site->n_values; i++)
        kiln_buf_printf(&text, "%s%s",
                        i == 0              ? ""
                        : i == site->n_read ? " -> "
                                            : ", ",
                        kiln_layout_name(a, site->value[i]->type.rank, &layout[i]));
    return text.p;
}

static const char *cost_text(kiln_arena *a, const kiln_net_way *w) {
    return w->ns > 0 ? kiln_format(a, "%.3f us (%s)", w->ns / 1e3,
                                   w->is_known ? "measured" : "estimated")
                     : "no time";
}

/* What is other than greedy would have it. */
static const char *change_text(kiln_net_survey *s, const kiln_net_site *site, int way) {
    kiln_arena *a = s->arena;
    const kiln_net_way *x = &site->way.v[way], *greedy = &site->way.v[0];
    return kiln_format(s->n->arena, "'%s' takes %s, %s, not %s, %s",
                       s->n->step.v[site->step].name, layouts_text(a, site, x->layout),
                       cost_text(a, x), layouts_text(a, site, greedy->layout),
                       cost_text(a, greedy));
}

static void say_changes(kiln_net_survey *s, const kiln_net_solution *x,
                        kiln_net_forecast *f) {
    for (size_t i = 0; i < s->site.n; i++)
        if (x->way[i] != 0)
            kiln_vec_push(s->n->arena, &f->change,
                          change_text(s, &s->site.v[i], x->way[i]));
}

static void take(kiln_net *n, const kiln_net_choice *const *choice) {
    for (size_t i = 0; i < n->step.n; i++)
        n->step.v[i].choice = choice[i];
}

/* Texts have the layouts of all calls. */
static void say_layouts(kiln_net *n) {
    for (size_t i = 0; i < n->step.n; i++) {
        const kiln_net_choice *c = n->step.v[i].choice;
        if (c == NULL || c->tmpl == NULL)
            continue;
        kiln_net_choice *said = kiln_arena_dup(n->arena, c, sizeof *c);
        said->is_searched = true;
        n->step.v[i].choice = said;
    }
}

const kiln_net_choice **
kiln_net_choices_of(kiln_net_survey *s, const kiln_net_solution *x, int *n_changed) {
    const kiln_net_choice **given =
        kiln_array(s->arena, const kiln_net_choice *, s->n->step.n);
    for (size_t i = 0; i < s->site.n; i++) {
        const kiln_net_site *site = &s->site.v[i];
        given[site->step] = site->way.v[x->way[i]].choice;
        *n_changed += x->way[i] != 0;
        if (x->way[i] != 0)
            KILN_LOG(DEBUG, "layout", "%s: the search says so",
                     change_text(s, site, x->way[i]));
    }
    return given;
}

/* Estimates are not good to a hundredth: what hangs on them must gain more than that
 * (mobilenet_v2 was predicted to gain 0.8%, and gained nothing). */
static double needed_gain(const kiln_net_survey *s, const kiln_net_solution *x) {
    static const double by_estimates = 1.02;
    for (size_t i = 0; i < s->site.n; i++) {
        const kiln_net_site *site = &s->site.v[i];
        if (x->way[i] != 0 &&
            (!site->way.v[0].is_known || !site->way.v[x->way[i]].is_known))
            return by_estimates;
    }
    for (size_t i = 0; i < s->conversion.entries.n; i++) {
        const kiln_net_conversion *c = s->conversion.entries.v[i].value;
        if (c->calls > 0 && !c->is_known)
            return by_estimates;
    }
    return 1;
}

static kiln_status try_solution(kiln_net_survey *s, const kiln_net_solution *x,
                                kiln_net_forecast *f, kiln_err *err) {
    kiln_net_rehearsal r;
    double ns = 0;
    int n_changed = 0;
    const kiln_net_choice **given = kiln_net_choices_of(s, x, &n_changed);
    if (n_changed == 0)
        return KILN_OK;
    KILN_TRY(kiln_net_rehearse(s->n, given, &r, err));
    const kiln_status st = kiln_net_account(s, &r, &ns, err);
    KILN_LOG(INFO, "layout",
             "'%s': %.3f us as greedy has it, %.3f us by the search (%.3f us by its "
             "model, %d nodes, %d options, %s), %d steps differ, %d conversions for %d",
             s->n->g->name, f->greedy_ns / 1e3, ns / 1e3, x->ns / 1e3, x->n_nodes,
             x->n_options, x->is_least ? "least" : "near the least", n_changed,
             r.net.n_conversions, f->greedy_conversions);
    f->search_ns = ns;
    const double gain = needed_gain(s, x);
    const bool is_better = st == KILN_OK && ns * gain < f->greedy_ns;
    KILN_LOG(DEBUG, "layout", "'%s': %s, as %.0f%% must be gained", s->n->g->name,
             is_better ? "the search's layouts are taken" : "greedy's layouts stay",
             100 * (gain - 1));
    if (is_better) {
        f->chosen_ns = ns;
        f->n_changed = n_changed;
        say_changes(s, x, f);
        take(s->n, r.choice);
        say_layouts(s->n);
        kiln_net_keep_choices(s->n);
    }
    kiln_net_rehearsed(&r);
    return st;
}

static kiln_status search(kiln_net_survey *s, kiln_net_forecast *f, kiln_err *err) {
    kiln_net_solution x;
    KILN_TRY(kiln_net_survey_make(s, err));
    KILN_TRY(kiln_net_account(s, s->greedy, &f->greedy_ns, err));
    KILN_TRY(kiln_net_solve(s, &x, err));
    f->chosen_ns = f->search_ns = f->greedy_ns;
    f->greedy_conversions = s->greedy->net.n_conversions;
    f->n_sites = (int)s->site.n;
    f->n_known = s->n_known;
    for (size_t i = 0; i < s->site.n; i++)
        f->n_ways += (int)s->site.v[i].way.n;
    f->is_least = x.is_least;
    take(s->n, s->greedy->choice);
    return try_solution(s, &x, f, err);
}

kiln_status kiln_net_search(kiln_net *n, const kiln_net_rehearsal *greedy,
                            kiln_err *err) {
    kiln_arena arena = {0};
    kiln_net_forecast *f = kiln_new(n->arena, kiln_net_forecast);
    kiln_net_survey s = {.arena = &arena, .n = n, .greedy = greedy, .hope = 1};
    const kiln_status st = search(&s, f, err);
    if (st != KILN_OK)
        kiln_note(err, "searching for the best layouts");
    n->forecast = f;
    kiln_arena_fini(&arena);
    return st;
}

static kiln_status choose(kiln_net *n, kiln_err *err) {
    kiln_net_rehearsal greedy;
    KILN_TRY(kiln_net_rehearse(n, NULL, &greedy, err));
    const kiln_status st = kiln_net_search(n, &greedy, err);
    kiln_net_rehearsed(&greedy);
    return st;
}

const kiln_net_chooser kiln_net_chooser_search = {
    .name = "search",
    .doc = "all calls and conversions together, by measured or estimated costs",
    .choose = choose,
};
