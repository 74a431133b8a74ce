/* A process that soon becomes another program. */
#ifndef KILN_BASE_SPAWN_H
#define KILN_BASE_SPAWN_H

/* Begins a process that calls f(arg). It shares the caller's memory until it calls exec
 * or _exit, and the calling thread waits so long: a fork would copy the tables of all
 * pages, which takes milliseconds where a network is in memory, and many under
 * AddressSanitizer. So f makes system calls only, as another thread may hold any lock,
 * changes nothing of the caller's but errno, and does not return. The caller blocks its
 * signals meanwhile. The process's number; -1 with errno: there is none. */
int kiln_spawn(void (*f)(const void *arg), const void *arg);

#endif
