/* Addresses of workers. */
#include "pipeline/measure/wire/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static kiln_status refuse(const char *text, kiln_err *err) {
    return kiln_fail(
        err, KILN_ERR_ARG,
        "'%.100s' is no address of a runner: unix:PATH, tcp:127.0.0.1:PORT "
        "or tcp:[::1]:PORT",
        text);
}

static kiln_status parse_unix(const char *path, kiln_wire_address *out, kiln_err *err) {
    const size_t n = strlen(path), room = sizeof out->at.local.sun_path;
    if (n == 0)
        return kiln_fail(err, KILN_ERR_ARG, "'unix:' must name a path");
    if (n >= room)
        return kiln_fail(err, KILN_ERR_LIMIT,
                         "the path of a socket has at most %zu bytes, this one has %zu",
                         room - 1, n);
    *out = (kiln_wire_address){.bytes = sizeof out->at.local};
    out->at.local.sun_family = AF_UNIX;
    memcpy(out->at.local.sun_path, path, n);
    return KILN_OK;
}

static kiln_status parse_tcp(const char *text, const char *rest, kiln_wire_address *out,
                             kiln_err *err) {
    char host[INET6_ADDRSTRLEN];
    const char *colon = strrchr(rest, ':');
    int64_t port;
    if (colon == NULL || !kiln_parse_i64(kiln_str_from(colon + 1), &port) || port < 0 ||
        port > UINT16_MAX)
        return refuse(text, err);
    const bool is_ip6 = rest[0] == '[' && colon > rest && colon[-1] == ']';
    const char *begin = is_ip6 ? rest + 1 : rest, *end = is_ip6 ? colon - 1 : colon;
    if (end < begin || (size_t)(end - begin) >= sizeof host)
        return refuse(text, err);
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    kiln_wire_address a = {.bytes = sizeof a.at.ip4};
    if (is_ip6) {
        a.bytes = sizeof a.at.ip6;
        a.at.ip6.sin6_family = AF_INET6;
        a.at.ip6.sin6_port = htons((uint16_t)port);
    } else {
        a.at.ip4.sin_family = AF_INET;
        a.at.ip4.sin_port = htons((uint16_t)port);
    }
    void *to = is_ip6 ? (void *)&a.at.ip6.sin6_addr : (void *)&a.at.ip4.sin_addr;
    if (inet_pton(is_ip6 ? AF_INET6 : AF_INET, host, to) != 1)
        return refuse(text, err);
    *out = a;
    return KILN_OK;
}

kiln_status kiln_wire_address_parse(const char *text, kiln_wire_address *out,
                                    kiln_err *err) {
    if (strncmp(text, "unix:", 5) == 0)
        return parse_unix(text + 5, out, err);
    if (strncmp(text, "tcp:", 4) == 0)
        return parse_tcp(text, text + 4, out, err);
    return refuse(text, err);
}

void kiln_wire_address_text(const kiln_wire_address *a,
                            char text[KILN_WIRE_ADDRESS_TEXT]) {
    char host[INET6_ADDRSTRLEN] = "";
    if (a->at.any.sa_family == AF_UNIX) {
        (void)snprintf(text, KILN_WIRE_ADDRESS_TEXT, "unix:%s", a->at.local.sun_path);
    } else if (a->at.any.sa_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &a->at.ip6.sin6_addr, host, sizeof host);
        (void)snprintf(text, KILN_WIRE_ADDRESS_TEXT, "tcp:[%s]:%d", host,
                       (int)ntohs(a->at.ip6.sin6_port));
    } else {
        (void)inet_ntop(AF_INET, &a->at.ip4.sin_addr, host, sizeof host);
        (void)snprintf(text, KILN_WIRE_ADDRESS_TEXT, "tcp:%s:%d", host,
                       (int)ntohs(a->at.ip4.sin_port));
    }
}

/* A folder that others may write to could hold a socket of theirs. */
static kiln_status check_folder(const char *path, kiln_err *err) {
    kiln_arena scratch = {0};
    struct stat st;
    const char *folder = kiln_path_dir(&scratch, path);
    kiln_status s = KILN_OK;
    if (stat(folder, &st) != 0)
        s = kiln_fail(err, kiln_errno_status(errno), "cannot look at folder '%s': %s",
                      folder, strerror(errno));
    else if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
             (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        s = kiln_fail(err, KILN_ERR_UNSUPPORTED,
                      "a runner's socket must be in a folder of this user's that "
                      "nobody else may write to; '%s' is none",
                      folder);
    kiln_arena_fini(&scratch);
    return s;
}

kiln_status kiln_wire_address_check_private(const kiln_wire_address *a, kiln_err *err) {
    char text[KILN_WIRE_ADDRESS_TEXT];
    if (a->at.any.sa_family == AF_UNIX)
        return check_folder(a->at.local.sun_path, err);
    const bool is_loopback =
        a->at.any.sa_family == AF_INET
            ? ntohl(a->at.ip4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
            : memcmp(&a->at.ip6.sin6_addr, &in6addr_loopback,
                     sizeof in6addr_loopback) == 0;
    if (is_loopback)
        return KILN_OK;
    kiln_wire_address_text(a, text);
    return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                     "a runner runs what it is sent and asks nobody who they are: it "
                     "listens on a Unix socket or a loopback address, not on %s",
                     text);
}

int kiln_wire_address_socket(const kiln_wire_address *a) {
    const int fd = socket(a->at.any.sa_family, SOCK_STREAM, 0), on = 1;
    if (fd < 0)
        return -1;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    /* A request is one write, and its answer is waited for. */
    if (a->at.any.sa_family != AF_UNIX)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}
