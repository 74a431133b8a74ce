/* kiln-device: what runs on a board (docs/boards.md).
 *
 *     kiln-device keygen NAME                       NAME.pub and NAME.key
 *     kiln-device serve --key FILE --allow KEY ...  a runner for who has one of those keys
 *
 * Three kinds of processes. The first one listens, and forks a gate for each connection. A
 * gate does the handshake and seals what goes by; it is the only one that reads what
 * strangers send, and may neither open a file nor start a program. The runner is lent to
 * one at a time, as kiln-runner is, and never sees a connection of somebody whose key is
 * not allowed.
 */
#ifndef KILN_PIPELINE_MEASURE_BOARD_H
#define KILN_PIPELINE_MEASURE_BOARD_H

/* The exit code. machine: this one's profile as JSON, for greetings; "": not known. */
int kiln_board_main(int argc, char *const *argv, const char *machine);

#endif
