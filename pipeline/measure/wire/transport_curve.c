/* A worker on another machine, which lets in those whose keys it knows (pipeline/curve):
 *
 *     curve://HOST:PORT?device=KEY&key=FILE
 *
 * KEY is the device's public one, 64 digits or a file; FILE has our own pair, and is
 * kiln's own for this user (kiln_curve_own_key) where nothing is said. A thread passes
 * bytes between the connection and a pair of sockets, of which one is the worker to
 * whoever asks.
 */
#include "pipeline/curve/curve.h"
#include "pipeline/measure/wire/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SCHEME "curve://"
enum { MAX_HOST = 256, MAX_PORT = 8, MAX_FILE = 4096, PATIENCE_MS = 20000 };

/* ---- addresses ------------------------------------------------------------------- */

typedef struct place {
    char host[MAX_HOST], port[MAX_PORT];
    char device[MAX_FILE], key[MAX_FILE]; /* "": not said */
} place;

static bool copy(kiln_str s, char *out, size_t room) {
    if (s.n == 0 || s.n >= room)
        return false;
    memcpy(out, s.p, s.n);
    out[s.n] = '\0';
    return true;
}

static bool parse_host(kiln_str s, place *out) {
    size_t colon = s.n;
    int64_t port;
    while (colon > 0 && s.p[colon - 1] != ':')
        colon--;
    if (colon == 0)
        return false;
    const kiln_str number = {s.p + colon, s.n - colon};
    kiln_str host = {s.p, colon - 1};
    if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
        host = (kiln_str){host.p + 1, host.n - 2};
    return kiln_parse_i64(number, &port) && port > 0 && port <= UINT16_MAX &&
           copy(number, out->port, sizeof out->port) &&
           copy(host, out->host, sizeof out->host);
}

static bool parse_rest(kiln_str s, place *out) {
    kiln_str item, name;
    while (kiln_str_cut(&s, '&', &item)) {
        if (!kiln_str_cut(&item, '=', &name))
            return false;
        char *to = kiln_str_is(name, "device") ? out->device
                   : kiln_str_is(name, "key")  ? out->key
                                               : NULL;
        if (to == NULL || !copy(item, to, MAX_FILE))
            return false;
    }
    return out->device[0] != '\0';
}

static kiln_status parse(const char *address, place *out, kiln_err *err) {
    kiln_str rest = kiln_str_from(address + strlen(SCHEME)), host;
    memset(out, 0, sizeof *out);
    if (!kiln_str_cut(&rest, '?', &host) || !parse_host(host, out) ||
        !parse_rest(rest, out))
        return kiln_fail(err, KILN_ERR_ARG,
                         "'%.100s' is no address of a device: " SCHEME
                         "HOST:PORT?device=KEY, and &key=FILE for a pair of keys that "
                         "is not this user's usual one",
                         address);
    return KILN_OK;
}

/* Whose keys. `own` is the caller's to wipe. */
static kiln_status read_keys(const place *p, kiln_curve_key *device,
                             kiln_curve_pair *own, kiln_err *err) {
    kiln_arena scratch = {0};
    const char *path = p->key;
    kiln_status st = kiln_curve_public_read(p->device, device, err);
    if (st == KILN_OK && path[0] == '\0')
        st = kiln_curve_own_key(&scratch, &path, err);
    if (st == KILN_OK)
        st = kiln_curve_pair_read(path, own, err);
    kiln_arena_fini(&scratch);
    return st;
}

static kiln_status check_curve(const char *address, kiln_err *err) {
    kiln_curve_key device;
    kiln_curve_pair own;
    place p;
    KILN_TRY(parse(address, &p, err));
    KILN_TRY(kiln_curve_start(err));
    const kiln_status st = read_keys(&p, &device, &own, err);
    kiln_curve_wipe(&own, sizeof own);
    return st;
}

/* ---- a connection ---------------------------------------------------------------- */

typedef struct kiln_curve_link {
    kiln_arena arena; /* of this */
    place place;
    kiln_curve_relay relay;
    pthread_t thread;
    kiln_err why; /* read once the thread has ended */
} kiln_curve_link;

static bool has_given_up(const kiln_curve_link *l) {
    char byte;
    return recv(l->relay.plain, &byte, 1, MSG_PEEK) == 0;
}

/* Not blocking; -1: nobody is there, errno says why. */
static int connect_to(const kiln_curve_link *l, const struct addrinfo *at) {
    const int fd = socket(at->ai_family, at->ai_socktype, at->ai_protocol), on = 1;
    int error = 0;
    socklen_t bytes = sizeof error;
    if (fd < 0)
        return -1;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    bool is_there = connect(fd, at->ai_addr, at->ai_addrlen) == 0;
    if (!is_there && errno == EINPROGRESS) {
        enum { PIECE_MS = 100 };
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        for (int ms = 0; p.revents == 0 && ms < PATIENCE_MS && !has_given_up(l);
             ms += PIECE_MS)
            (void)poll(&p, 1, PIECE_MS);
        is_there = p.revents != 0 &&
                   getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 &&
                   error == 0;
        errno = p.revents == 0 ? ETIMEDOUT : error;
    }
    if (is_there)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

static kiln_status find(kiln_curve_link *l, kiln_err *err) {
    const struct addrinfo want = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *all = NULL;
    const int failed = getaddrinfo(l->place.host, l->place.port, &want, &all);
    int error = ENOENT;
    if (failed != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot find '%s': %s", l->place.host,
                         gai_strerror(failed));
    for (const struct addrinfo *at = all; at != NULL && l->relay.net < 0;
         at = at->ai_next) {
        l->relay.net = connect_to(l, at);
        error = errno;
    }
    freeaddrinfo(all);
    if (l->relay.net < 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot connect to %s, port %s: %s",
                         l->place.host, l->place.port, strerror(error));
    return KILN_OK;
}

static void *pass(void *user) {
    kiln_curve_link *l = user;
    if (find(l, &l->why) == KILN_OK)
        (void)kiln_curve_pass(&l->relay, &l->why);
    if (l->relay.net >= 0)
        close(l->relay.net);
    close(l->relay.plain);
    return NULL;
}

static void forget(kiln_curve_link *l) {
    kiln_arena a = l->arena;
    kiln_curve_end(&l->relay.session);
    kiln_arena_fini(&a);
}

static kiln_status start(kiln_curve_link *l, kiln_err *err) {
    sigset_t all, old;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &old);
    const int error = pthread_create(&l->thread, NULL, pass, l);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (error == 0)
        return KILN_OK;
    return kiln_fail(err, KILN_ERR_IO, "cannot start a thread: %s", strerror(error));
}

static kiln_status open_link(kiln_curve_link *l, int *ours, kiln_err *err) {
    kiln_curve_key device;
    kiln_curve_pair own;
    int two[2];
    KILN_TRY(kiln_curve_start(err));
    KILN_TRY(read_keys(&l->place, &device, &own, err));
    kiln_curve_connect(&l->relay.session, &own, &device);
    kiln_curve_wipe(&own, sizeof own);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, two) != 0)
        return kiln_fail(err, KILN_ERR_IO, "cannot make sockets: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        (void)fcntl(two[i], F_SETFD, FD_CLOEXEC);
        (void)fcntl(two[i], F_SETFL, fcntl(two[i], F_GETFL) | O_NONBLOCK);
    }
    l->relay.net = -1;
    l->relay.plain = two[1];
    l->relay.patience_ms = PATIENCE_MS;
    const kiln_status st = start(l, err);
    if (st != KILN_OK) {
        close(two[0]);
        close(two[1]);
        return st;
    }
    *ours = two[0];
    return KILN_OK;
}

static kiln_status open_curve(kiln_transport *t, kiln_err *err) {
    kiln_arena a = {0};
    kiln_curve_link *l = kiln_new(&a, kiln_curve_link);
    int ours = -1;
    kiln_status st = parse(t->address, &l->place, err);
    l->arena = a;
    if (st == KILN_OK)
        st = open_link(l, &ours, err);
    if (st != KILN_OK) {
        forget(l);
        return st;
    }
    t->link = l;
    t->in = t->out = ours;
    return KILN_OK;
}

static ssize_t send_curve(kiln_transport *t, const void *p, size_t bytes) {
    return send(t->out, p, bytes, MSG_NOSIGNAL);
}

static void end_curve(kiln_transport *t, bool has_closed, kiln_transport_end *how) {
    kiln_curve_link *l = t->link;
    close(t->in);
    (void)pthread_join(l->thread, NULL);
    *how = (kiln_transport_end){.kind = KILN_TRANSPORT_GONE};
    if (l->why.len > 0)
        (void)snprintf(how->text, sizeof how->text, "%.120s%s", l->why.text,
                       l->relay.net < 0
                           ? ""
                           : "; devices say nothing to keys that they do not know");
    else
        (void)snprintf(how->text, sizeof how->text, "the connection was closed%s",
                       has_closed ? " by the other side" : "");
    forget(l);
    t->link = NULL;
    t->in = t->out = -1;
}

static const char *const begins[] = {SCHEME, NULL};
const kiln_transport_def kiln_transport_curve_def = {.name = "curve",
                                                     .open = open_curve,
                                                     .send = send_curve,
                                                     .end = end_curve,
                                                     .is_far = true,
                                                     .begins = begins,
                                                     .check = check_curve};
