/* kiln-runner: proves and times candidates (docs/workers.md).
 *
 *     kiln-runner                     answers messages on standard input until it ends
 *     kiln-runner --serve ADDRESS     answers who connects there, one at a time
 *
 * One thread; every run of a candidate is a process forked for it, whose results lie in
 * memory shared with this one and are looked at here. Includes nothing but base/,
 * runtime/ and the messages: no compiler, model or database is part of the program.
 */
#ifndef KILN_PIPELINE_MEASURE_RUNNER_H
#define KILN_PIPELINE_MEASURE_RUNNER_H

/* The exit code. machine: this one's profile as JSON, for greetings; "": not known. */
int kiln_runner_main(int argc, char *const *argv, const char *machine);

/* For who lets others in by rules of its own: `door` is a SOCK_SEQPACKET, on which one
 * stream socket after the other comes (SCM_RIGHTS), and each is served as a connection
 * is. Returns when asked to end, or when nobody is left at the other end. */
void kiln_runner_lend(int door, const char *machine);

#endif
