/* libcurl: its interface appears in this file only. */
#include "zoo/download.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the callbacks tell each other. */
typedef struct transfer {
    kiln_download *d;
    int error;       /* errno of a failed write */
    bool is_too_big; /* more came than there may be */
} transfer;

static size_t receive(char *p, size_t size, size_t n, void *user) {
    transfer *t = user;
    kiln_download *d = t->d;
    size_t left = size * n;
    if (d->offset + d->n_written + (int64_t)left > d->max_bytes) {
        t->is_too_big = true;
        return CURL_WRITEFUNC_ERROR;
    }
    while (left > 0) {
        const ssize_t wrote = write(d->fd, p, left);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            t->error = wrote < 0 ? errno : ENOSPC;
            return CURL_WRITEFUNC_ERROR;
        }
        p += wrote;
        left -= (size_t)wrote;
        d->n_written += wrote;
    }
    return size * n;
}

static int tick(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total,
                curl_off_t up) {
    transfer *t = user;
    (void)total, (void)now, (void)up_total, (void)up;
    if (t->d->progress != NULL)
        t->d->progress(t->d->user, t->d->offset + t->d->n_written);
    return kiln_interrupted();
}

static void set_options(CURL *c, transfer *t, char error[CURL_ERROR_SIZE]) {
    const kiln_download *d = t->d;
    const char *const kinds = d->allow_http ? "https,http,file" : "https,file";
    curl_easy_setopt(c, CURLOPT_URL, d->url);
    curl_easy_setopt(c, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, kinds);
    /* Never from the network to the reader's own files. */
    curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR,
                     d->allow_http ? "https,http" : "https");
    curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(c, CURLOPT_MAXREDIRS, 10L);
    curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_USERAGENT, "kiln/" KILN_VERSION);
    curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)d->connect_s);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, (long)KILN_DOWNLOAD_SLOW);
    curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)d->stall_s);
    curl_easy_setopt(c, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)d->offset);
    /* Who does not go on at the offset announces the whole file. */
    curl_easy_setopt(c, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)d->max_bytes);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, tick);
    curl_easy_setopt(c, CURLOPT_XFERINFODATA, t);
    curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
}

/* A server that is busy, or in trouble, may be well again soon. */
static kiln_download_end by_http(long code) {
    return code == 408 || code == 425 || code == 429 || code >= 500
               ? KILN_DOWNLOAD_AGAIN
               : KILN_DOWNLOAD_REFUSED;
}

/* Asked to go on, it says that nothing lies there (which the library takes for the end
 * of the file), or sends all of it. */
static bool does_not_go_on(CURLcode rc, const transfer *t, long http) {
    return t->d->offset > 0 &&
           ((http == 416 && t->d->n_written == 0) || rc == CURLE_RANGE_ERROR ||
            rc == CURLE_BAD_DOWNLOAD_RESUME);
}

static kiln_download_end end_of(CURLcode rc, const transfer *t, long http) {
    if (does_not_go_on(rc, t, http))
        return KILN_DOWNLOAD_RESTART;
    switch (rc) {
    case CURLE_OK:
        return KILN_DOWNLOAD_DONE;
    case CURLE_ABORTED_BY_CALLBACK:
        return KILN_DOWNLOAD_INTERRUPTED;
    case CURLE_WRITE_ERROR:
        return t->is_too_big ? KILN_DOWNLOAD_TOO_BIG : KILN_DOWNLOAD_DISK;
    case CURLE_FILESIZE_EXCEEDED:
        return KILN_DOWNLOAD_TOO_BIG;
    case CURLE_HTTP_RETURNED_ERROR:
        return by_http(http);
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_FILE_COULDNT_READ_FILE:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_LOGIN_DENIED:
    case CURLE_REMOTE_ACCESS_DENIED:
        return KILN_DOWNLOAD_REFUSED;
    default:
        return KILN_DOWNLOAD_AGAIN;
    }
}

static void explain(kiln_download *d, const transfer *t, CURLcode rc, long http,
                    const char *error) {
    if (does_not_go_on(rc, t, http))
        snprintf(d->text, sizeof d->text,
                 "the server does not go on at byte %lld (answer %ld)",
                 (long long)d->offset, http);
    else if (t->is_too_big || rc == CURLE_FILESIZE_EXCEEDED)
        snprintf(d->text, sizeof d->text, "the server sends more than %lld bytes",
                 (long long)d->max_bytes);
    else if (t->error != 0)
        snprintf(d->text, sizeof d->text, "%s", strerror(t->error));
    else if (rc == CURLE_UNSUPPORTED_PROTOCOL && strncmp(d->url, "http:", 5) == 0)
        snprintf(d->text, sizeof d->text,
                 "protocol http does not encrypt; --allow-http takes it all the same, "
                 "hashes protect");
    else if (rc == CURLE_HTTP_RETURNED_ERROR)
        snprintf(d->text, sizeof d->text, "the server answers %ld%s", http,
                 http == 404 ? " (not found)" : "");
    else
        snprintf(d->text, sizeof d->text, "%s",
                 error[0] != '\0' ? error : curl_easy_strerror(rc));
}

/* Opening a pipe would wait for whoever writes to it. What is not there is the
 * library's to say. */
static bool is_odd_file(CURL *c, const char *url) {
    static const char kind[] = "file://";
    struct stat st;
    if (strncmp(url, kind, sizeof kind - 1) != 0)
        return false;
    const char *path = strchr(url + sizeof kind - 1, '/');
    char *plain = path != NULL ? curl_easy_unescape(c, path, 0, NULL) : NULL;
    const bool is_odd = plain != NULL && stat(plain, &st) == 0 && !S_ISREG(st.st_mode);
    curl_free(plain);
    return is_odd;
}

kiln_download_end kiln_download_run(kiln_download *d) {
    static bool is_ready; /* one thread fetches; the library counts its own users */
    char error[CURL_ERROR_SIZE] = "";
    transfer t = {.d = d};
    long http = 0;
    curl_off_t wait = 0;
    if (!is_ready)
        is_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    CURL *c = is_ready ? curl_easy_init() : NULL;
    d->n_written = 0;
    d->retry_after_s = 0;
    if (c == NULL) {
        snprintf(d->text, sizeof d->text, "the transfer library does not start");
        return KILN_DOWNLOAD_REFUSED;
    }
    if (is_odd_file(c, d->url)) {
        snprintf(d->text, sizeof d->text, "it is no regular file");
        curl_easy_cleanup(c);
        return KILN_DOWNLOAD_REFUSED;
    }
    set_options(c, &t, error);
    const CURLcode rc = curl_easy_perform(c);
    curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &http);
    curl_easy_getinfo(c, CURLINFO_RETRY_AFTER, &wait);
    d->retry_after_s = (double)wait;
    explain(d, &t, rc, http, error);
    curl_easy_cleanup(c);
    return end_of(rc, &t, http);
}
