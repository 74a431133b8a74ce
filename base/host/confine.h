/* Confinement of code that nobody vouches for: system calls by an allow-list, seccomp
 * on Linux. What such code may do is compute. It stands alone: kiln-run on a board has it
 * too, and nothing else of this folder. */
#ifndef KILN_BASE_CONFINE_H
#define KILN_BASE_CONFINE_H

#include <stdbool.h>

enum { KILN_CONFINE_TEXT = 160 };

/* Can a process be confined here? Asked of the system, by a child that tries. `why`:
 * what is missing; "" where nothing is. */
bool kiln_confine_works(char why[KILN_CONFINE_TEXT]);

/* For good, for all threads of the process: what is left are waiting for and waking
 * threads, clocks, the process's own use of resources, the end, and reading and writing
 * on one descriptor (-1: none). Any other call is not made: it raises SIGSYS, whose
 * si_syscall tells which; another architecture's calls end the process at once. No new
 * privileges ever after. False: the system cannot (errno), nothing is confined. */
bool kiln_confine(int descriptor);

/* What a process that runs such code, and answers for it, may do besides. */
enum {
    KILN_CONFINE_LOADS = 1, /* make memory that can be executed */
    KILN_CONFINE_READS = 2, /* open files for reading, and read them */
};
typedef struct kiln_confine_room {
    int in, out;  /* read and wait on, write to; standard error is written to, too */
    unsigned may; /* of the above */
} kiln_confine_room;
/* As kiln_confine, for a process that goes on by itself: what is left besides are these
 * descriptors, the process's own memory (never executable), threads of the process (no
 * other process), where they run, and sleep. May be called again with less room, as
 * long as it was called with room to load. */
bool kiln_confine_room_to(const kiln_confine_room *room);

/* As kiln_confine, for a process that has all of its files open: what is left besides are
 * writing to what is open, seeking and closing, giving memory back, and threads that are
 * just being made. */
bool kiln_confine_files(void);

/* As kiln_confine, for a process that passes on what strangers say: what is left besides
 * are reading and writing sockets that are open, waiting for them, handing one on, and
 * closing. */
bool kiln_confine_sockets(void);

/* A second fence, of another kind (Landlock, Linux 5.13 and later), for good: the calling
 * thread, and every thread and process that it starts from now on, can write, make, move,
 * remove and start nothing that it names; where the system knows how, it binds and
 * connects no TCP socket and signals nobody outside, too. It reads, and what is open stays
 * as it is. Needs no privileges, and is there in builds for a sanitizer. To be called
 * before kiln_confine, which lets nobody ask for it. False: the system has none (errno),
 * nothing is confined. */
bool kiln_confine_paths(void);
int kiln_confine_paths_version(void); /* of the system's; 0: it has none */

/* "socket"; "system call 999" of what has no name here. `text` may be used for it. */
const char *kiln_system_call_name(long number, char text[KILN_CONFINE_TEXT]);

#endif
