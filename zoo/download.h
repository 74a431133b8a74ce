/* One transfer of one URL into an open file; libcurl behind it. */
#ifndef KILN_ZOO_DOWNLOAD_H
#define KILN_ZOO_DOWNLOAD_H

#include "base/base.h"

typedef enum kiln_download_end {
    KILN_DOWNLOAD_DONE,
    KILN_DOWNLOAD_AGAIN,   /* may go better next time: the network, a busy server */
    KILN_DOWNLOAD_RESTART, /* the server does not go on at the offset: from zero */
    KILN_DOWNLOAD_REFUSED, /* no sense in trying again: not there, not allowed */
    KILN_DOWNLOAD_TOO_BIG, /* more than max_bytes */
    KILN_DOWNLOAD_DISK,    /* the file could not be written */
    KILN_DOWNLOAD_INTERRUPTED
} kiln_download_end;

enum {
    KILN_DOWNLOAD_TEXT = 320,
    KILN_DOWNLOAD_SLOW = 1000 /* bytes a second: who sends fewer has stalled */
};

typedef struct kiln_download {
    const char *url;
    int fd;            /* positioned at its end */
    int64_t offset;    /* bytes that are there already */
    int64_t max_bytes; /* in all */
    bool allow_http;
    int connect_s, stall_s; /* stalled for so long: ended */
    void (*progress)(void *user, int64_t done);
    void *user;
    /* Results: */
    int64_t n_written; /* by this transfer */
    char text[KILN_DOWNLOAD_TEXT];
    double retry_after_s; /* the server's wish; 0: none */
} kiln_download;

kiln_download_end kiln_download_run(kiln_download *d);

#endif
