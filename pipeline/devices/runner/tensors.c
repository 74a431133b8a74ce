/* Files of inputs and outputs. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pipeline/devices/runner/runner.h"

void run_port_text(char *out, size_t n, const kiln_port_info *port) {
    size_t at = (size_t)snprintf(out, n, "%s[", port->dtype);
    for (int i = 0; i < port->rank && at < n; i++)
        at += (size_t)snprintf(out + at, n - at, "%s%" PRId64, i > 0 ? "," : "",
                               port->dim[i]);
    if (at < n)
        snprintf(out + at, n - at, "]");
}

/* The data of a .npy file; NULL: refused, with the reason. */
static const unsigned char *npy_data(const unsigned char *file, size_t n,
                                     const kiln_port_info *port, const char *path) {
    enum { SHAPE_TEXT = 256 };
    npy_header h;
    const char *why = NULL, *descr = npy_descr(port->dtype);
    char want[SHAPE_TEXT];
    run_port_text(want, sizeof want, port);
    if (npy_parse(file, n, &h, &why) != 0) {
        (void)run_fail(RUN_INPUT, "'%s': %s", path, why);
        return NULL;
    }
    int is_same = descr != NULL && strcmp(h.descr, descr) == 0 && h.rank == port->rank;
    for (int i = 0; is_same && i < port->rank; i++)
        is_same = h.dim[i] == port->dim[i];
    if (!is_same) {
        (void)run_fail(RUN_INPUT, "'%s': it holds '%s' of rank %d; input '%s' is %s",
                       path, h.descr, h.rank, port->name, want);
        return NULL;
    }
    if (n - h.data != port->bytes) {
        (void)run_fail(RUN_INPUT, "'%s': it must hold %zu bytes of data, it holds %zu",
                       path, port->bytes, n - h.data);
        return NULL;
    }
    return file + h.data;
}

static run_exit give(kiln_session *s, int i, const kiln_port_info *port,
                     const char *path, const unsigned char *file, size_t n) {
    const size_t length = strlen(path);
    const unsigned char *data = file;
    if (length >= 4 && strcmp(path + length - 4, ".npy") == 0) {
        data = npy_data(file, n, port, path);
        if (data == NULL)
            return RUN_INPUT;
    } else if (n != port->bytes) {
        return run_fail(RUN_INPUT,
                        "'%s': input '%s' has %zu bytes, the file has %zu; a file with "
                        "a header must end in .npy",
                        path, port->name, port->bytes, n);
    }
    if (kiln_session_set_input(s, i, data) != 0)
        return run_fail(RUN_INPUT, "%s", kiln_session_error(s));
    return RUN_OK;
}

run_exit run_read_input(kiln_session *s, int i, const kiln_port_info *port,
                        const char *path) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return run_fail(RUN_INPUT, "'%s': %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return run_fail(RUN_INPUT, "'%s': is no file", path);
    }
    const size_t n = (size_t)st.st_size;
    if (n == 0) {
        close(fd);
        return give(s, i, port, path, (const unsigned char *)"", 0);
    }
    void *map = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return run_fail(RUN_INPUT, "'%s': could not be mapped", path);
    const run_exit code = give(s, i, port, path, map, n);
    munmap(map, n);
    return code;
}

/* As much of a file as a header takes; its size, or -1: it cannot be read. */
static int64_t read_start(const char *path, unsigned char *start, size_t room,
                          size_t *got) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const ssize_t n = read(fd, start, room);
    const int is_known = n >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    close(fd);
    *got = n > 0 ? (size_t)n : 0;
    return is_known ? (int64_t)st.st_size : -1;
}

int run_input_fits(const kiln_port_info *port, const char *path) {
    enum { HEADER_BYTES = 4096 };
    unsigned char start[HEADER_BYTES];
    npy_header h;
    const char *why = "";
    size_t got = 0;
    const size_t n = strlen(path);
    const int64_t bytes = read_start(path, start, sizeof start, &got);
    if (bytes < 0)
        return 1;
    if (n < 4 || strcmp(path + n - 4, ".npy") != 0)
        return (uint64_t)bytes == port->bytes;
    return npy_parse(start, got, &h, &why) != 0 ||
           (h.rank == port->rank &&
            memcmp(h.dim, port->dim, (size_t)h.rank * sizeof h.dim[0]) == 0);
}

/* stdio would ask for memory, and what kind of file it is, at the first byte. */
FILE *run_open(const char *path) {
    FILE *f = fopen(path, "wb");
    if (f != NULL)
        (void)setvbuf(f, NULL, _IOFBF, BUFSIZ);
    return f;
}

run_exit run_open_output(const char *dir, int i, const kiln_port_info *port, int is_raw,
                         FILE **out) {
    enum { PATH_BYTES = 4096 };
    char path[PATH_BYTES];
    if (!is_raw && npy_descr(port->dtype) == NULL)
        return run_fail(RUN_USAGE,
                        "output '%s' is %s, which .npy cannot say; use --raw",
                        port->name, port->dtype);
    const int n =
        snprintf(path, sizeof path, "%s/output_%d.%s", dir, i, is_raw ? "bin" : "npy");
    if (n < 0 || (size_t)n >= sizeof path)
        return run_fail(RUN_USAGE, "the output's path is too long");
    *out = run_open(path);
    return *out != NULL ? RUN_OK
                        : run_fail(RUN_DEVICE, "'%s': %s", path, strerror(errno));
}

run_exit run_write_output(FILE *f, int i, const kiln_port_info *port, const void *data,
                          int is_raw) {
    enum { HEADER_BYTES = 512 };
    char header[HEADER_BYTES];
    const size_t n = is_raw ? 0 : npy_format(header, sizeof header, port);
    if (!is_raw && n == 0)
        return run_fail(RUN_USAGE,
                        "output '%s' is %s, which .npy cannot say; use --raw",
                        port->name, port->dtype);
    const int is_good = fwrite(header, 1, n, f) == n &&
                        fwrite(data, 1, port->bytes, f) == port->bytes &&
                        fflush(f) == 0;
    return is_good ? RUN_OK
                   : run_fail(RUN_DEVICE, "output %d: could not be written whole", i);
}
