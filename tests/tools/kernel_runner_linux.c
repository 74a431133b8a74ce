/* Runs compiled kernels that come by standard input, one after the other, until it
 * ends: built for AArch64 and run under qemu-user it lets tests of x86 machines execute
 * what the code generator made for AArch64. One process for many objects: starting an
 * emulator costs more than running a kernel. The stream is tests/support/kernel/kernel_call.h.
 */
#include "runtime/loader.h"
#include "tests/support/kernel/kernel_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Memory of a job, mapped once and used again by the next. */
typedef struct block {
    unsigned char *p;
    size_t bytes;
} block;

static int reserve(block *b, size_t bytes) {
    if (bytes <= b->bytes)
        return 0;
    if (b->p != NULL)
        munmap(b->p, b->bytes);
    b->bytes = 0;
    b->p =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (b->p == MAP_FAILED) {
        b->p = NULL;
        return 1;
    }
    b->bytes = bytes;
    return 0;
}

static void reply(int status, const char *text) {
    kernel_reply r = {.magic = KERNEL_MAGIC, .status = status};
    snprintf(r.text, sizeof r.text, "%s", text);
    fwrite(&r, sizeof r, 1, stdout);
}

static int check(const kernel_job *j, uint64_t *all) {
    *all = 0;
    if (j->magic != KERNEL_MAGIC || j->n_args > KERNEL_MAX_ARGS ||
        j->n_inputs > j->n_args || j->n_threads > KERNEL_MAX_THREADS ||
        j->object_bytes > KILN_LOAD_MAX_BYTES || j->name[KERNEL_NAME - 1] != '\0')
        return 1;
    for (uint32_t i = 0; i < j->n_args; i++) {
        if (j->bytes[i] > KILN_LOAD_MAX_BYTES)
            return 1;
        *all += j->bytes[i];
    }
    return 0;
}

/* The object is loaded where a new one came. */
static int load(const kernel_job *j, block *object, kiln_code **code) {
    char text[KILN_LOAD_TEXT] = "no memory";
    if (j->object_bytes == 0)
        return 0;
    if (reserve(object, j->object_bytes) != 0 ||
        fread(object->p, 1, j->object_bytes, stdin) != j->object_bytes)
        return 1;
    kiln_code_close(*code);
    *code = NULL;
    if (kiln_code_open(object->p, j->object_bytes, code, text) != KILN_LOAD_OK)
        fprintf(stderr, "kernel_runner: %s\n", text);
    return 0;
}

static void run(const kernel_job *j, const kiln_code *code, unsigned char *data) {
    char text[KERNEL_TEXT] = "";
    void *tensor[KERNEL_MAX_ARGS];
    size_t bytes[KERNEL_MAX_ARGS];
    size_t at = 0, outputs = 0;
    for (uint32_t i = 0; i < j->n_args; i++) {
        if (i == j->n_inputs)
            outputs = at;
        tensor[i] = data + at;
        bytes[i] = j->bytes[i];
        at += j->bytes[i];
    }
    const kernel_call c = {.n_args = (int)j->n_args,
                           .n_inputs = (int)j->n_inputs,
                           .tensor = tensor,
                           .bytes = bytes,
                           .workspace_bytes = j->workspace_bytes,
                           .scratch_bytes = j->scratch_bytes,
                           .n_threads = (int)j->n_threads};
    kiln_kernel_fn *fn = code != NULL ? kiln_code_kernel(code, j->name) : NULL;
    if (fn == NULL) {
        reply(1, "the object does not load, or has no such kernel");
    } else if (kernel_call_run(&c, fn, text) != 0) {
        reply(1, text);
    } else {
        reply(0, "");
        if (j->n_inputs < j->n_args)
            fwrite(data + outputs, 1, at - outputs, stdout);
    }
    fflush(stdout);
}

int main(void) {
    kernel_job j;
    block object = {NULL, 0}, data = {NULL, 0};
    kiln_code *code = NULL;
    while (fread(&j, sizeof j, 1, stdin) == 1) {
        uint64_t all, inputs = 0;
        if (check(&j, &all) != 0 || load(&j, &object, &code) != 0 ||
            reserve(&data, all + 1) != 0) {
            fprintf(stderr, "kernel_runner: a broken job\n");
            return 1;
        }
        for (uint32_t i = 0; i < j.n_inputs; i++)
            inputs += j.bytes[i];
        if (fread(data.p, 1, inputs, stdin) != inputs)
            return 1;
        run(&j, code, data.p);
    }
    kiln_code_close(code);
    return 0;
}
