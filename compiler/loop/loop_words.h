/* Words of the text form of loop programs, by enumerator: loop_print.c writes them, loop_parse.c
 * reads them. Inside compiler/loop. */
#ifndef KILN_COMPILER_LOOP_LOOP_WORDS_H
#define KILN_COMPILER_LOOP_LOOP_WORDS_H

enum { KILN_N_LOOP_WORDS = 6, KILN_N_ATTR_WORDS = 10 };
extern const char *const kiln_loop_words[KILN_N_LOOP_WORDS]; /* kiln_loop_kind */
extern const char *const kiln_attr_words[KILN_N_ATTR_WORDS]; /* kiln_attr_key */

#endif
