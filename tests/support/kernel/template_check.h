/* A template's configuration held against the reference: applied, lowered, optimised,
 * interpreted (a GPU's under three orders of blocks and threads, and within what the
 * profile's blocks may have), and compiled where that is asked for. Arguments are random and lie in
 * the layouts that the template chose; outputs start as 0xFF bytes, and their tail
 * lanes must be zero at the end. */
#ifndef KILN_TESTS_SUPPORT_KERNEL_TEMPLATE_CHECK_H
#define KILN_TESTS_SUPPORT_KERNEL_TEMPLATE_CHECK_H

#include "compiler/codegen/codegen.h"
#include "compiler/schedule/template.h"

/* An option of a knob: a word, or where there is none a number. */
typedef struct template_knob {
    const char *name;
    int64_t value;
    const char *word;
} template_knob;

typedef struct template_check {
    const kiln_template *tmpl;
    const kiln_profile *profile;
    /* Run on this machine too, which must be able to: a GPU's where there is an OpenCL
     * device, its PTX given to an assembler where there is one. */
    bool compiled;
    uint64_t seed; /* of the arguments */
    double rtol, atol;
    /* Set in what is guessed (template_guess_program); ends without a name; NULL: none
     * are. */
    const template_knob *knobs;
} template_check;

/* Of what a template makes of sums of f32 for the shipped profile so named, which is
 * read into *p (borrowed: change what it has before the check runs); compiled where this
 * machine runs it. */
template_check template_check_on(const kiln_template *tmpl, const char *profile,
                                 kiln_profile *p, double atol);

/* False: the configuration was refused with KILN_ERR_ARG (or KILN_ERR_LIMIT) and a
 * text, which is left in err. Anything else that is wrong fails the running test,
 * naming the configuration. */
bool template_check_run(kiln_arena *a, const template_check *t, const kiln_workload *w,
                        const kiln_space *s, const kiln_config *c, kiln_err *err);

/* The configuration's code as assembly; NULL text: refused, as above. */
kiln_str template_assembly(kiln_arena *a, const template_check *t,
                           const kiln_workload *w, const kiln_space *s,
                           const kiln_config *c, kiln_err *err);

/* Many runs, each with an arena and random numbers of its own:
 *
 *     template_runs runs = {.n = 60};
 *     for (int64_t i = 0; template_runs_next(&runs, i); i++)
 *         template_runs_check(&runs, &t, random_graph(runs.arena, &runs.rng));
 *
 * Under a sanitizer they are fewer (kiln_test_cases). KILN_SCHEDULES asks for more,
 * KILN_SEED for others. */
typedef struct template_runs {
    int64_t n;
    kiln_arena *arena; /* of the run */
    kiln_rng rng;
    int64_t i;
    kiln_arena own;
    int n_checked, n_refused;
} template_runs;
bool template_runs_next(template_runs *r, int64_t i);
/* A configuration of the graph, every fourth time the one that is guessed, which must
 * not be refused; on a profile that this machine runs, one in eight compiled. False:
 * the template does not fit. */
bool template_runs_check(template_runs *r, const template_check *t,
                         const kiln_graph *g);

/* One such test as a row of a table: so many runs, each of a graph from `make`, which
 * the template must fit, within a tolerance. */
typedef struct template_property {
    const char *name;
    kiln_dtype dtype;
    double rtol, atol;
    int runs;
    const void *of; /* what else `make` is to know, or NULL; borrowed */
} template_property;
typedef kiln_graph *template_make_graph(kiln_arena *a, kiln_rng *rng,
                                        const template_property *p);
/* How many configurations were refused. */
int template_property_check(const template_property *p, const kiln_template *tmpl,
                            template_make_graph *make);

/* How many innermost loops the code of what is guessed has on this profile, which the
 * template must fit; *out: the loops, in the test arena. */
size_t template_guess_loops(const template_check *t, const kiln_graph *g,
                            const char *profile, kiln_asm_loop **out);

/* Of the configuration that is guessed, the loop with most multiply-adds: this many at
 * least, among so many instructions at most; no spill, no store. */
typedef struct template_hot_loop {
    int fma, instructions;
} template_hot_loop;
void template_check_hot_loop(const template_check *t, const kiln_graph *g,
                             const char *profile, const template_hot_loop *want);

/* The program of the configuration that is guessed, printed; it is checked first. */
const char *template_guess_program(kiln_arena *a, const template_check *t,
                                   const kiln_graph *g);

/* What that program fetches first: text that begins so, or nothing (NULL). */
void template_check_fetch(const template_check *t, const kiln_graph *g,
                          const char *want);

/* Chooses the option of the knob so named; the option must exist. */
void template_set(const kiln_space *s, kiln_config *c, const char *knob, int64_t value);
void template_set_word(const kiln_space *s, kiln_config *c, const char *knob,
                       const char *word);

#endif
