/* A process that soon becomes another program. */
#ifndef KILN_BASE_SPAWN_H
#define KILN_BASE_SPAWN_H

#include <stdbool.h>

/* Begins a process that calls f(arg). It shares the caller's memory until it calls exec
 * or _exit, and the calling thread waits so long: a fork would copy the tables of all
 * pages, which takes milliseconds where a network is in memory, and many under
 * AddressSanitizer. So f makes system calls only, as another thread may hold any lock,
 * changes nothing of the caller's but errno, and does not return. The caller blocks its
 * signals meanwhile. The process's number; -1 with errno: there is none. */
int kiln_spawn(void (*f)(const void *arg), const void *arg);

/* A pipe for such a process: closed by exec, its ends numbered out of the way of what
 * kiln_spawned_begin sets. False with errno; what could be opened is then in fd, else
 * -1. */
bool kiln_spawn_pipe(int fd[2]);

/* What f begins with: a process group of its own, signals as they are by default and
 * none blocked, death with the thread that spawned it, these three as standard input,
 * output and error, and no other descriptor beyond exec. Ends the process where its
 * parent (`parent`) died meanwhile. False with errno: a descriptor could not be set. */
bool kiln_spawned_begin(int parent, int in, int out, int err);

#endif
