/* Something that goes on beside its caller, in a thread of its own. */
#ifndef KILN_BASE_TASK_H
#define KILN_BASE_TASK_H

#include <pthread.h>
#include <stdbool.h>

typedef struct kiln_task {
    void (*fn)(void *user);
    void *user;
    bool has_thread;
    pthread_t thread;
} kiln_task;

/* Calls fn(user) in a new thread, which takes no signals; where there is none to be
 * had, at once. What `user` points to is fn's until kiln_task_wait, which must be
 * called: arenas and message chains among it are nobody else's. */
void kiln_task_start(kiln_task *t, void (*fn)(void *user), void *user);
void kiln_task_wait(kiln_task *t);

#endif
