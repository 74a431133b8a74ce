/* Any bytes as an object or a shared library, for every machine: refused with a
 * message, or linked within its image. */
#include "base/base.h"
#include "compiler/target/target.h"
#include "runtime/elf.h"
#include "tests/fuzz/fuzz.h"

/* Larger images are as good as these, only slower to clear. */
enum { MAX_IMAGE = 1 << 20 };

static void check(const uint8_t *data, size_t size, int machine) {
    kiln_elf e;
    kiln_arena a = {0};
    char text[KILN_LOAD_TEXT] = "";
    kiln_load_status st = kiln_elf_open(&e, data, size, machine, text);
    if (st == KILN_LOAD_OK && e.image_bytes <= MAX_IMAGE) {
        unsigned char *image = kiln_arena_alloc(&a, e.image_bytes);
        st = kiln_elf_link(&e, image);
        const int64_t at = kiln_elf_find(&e, "k");
        KILN_ASSERT(at < 0 || (uint64_t)at < e.image_bytes,
                    "a function lies outside the image");
    }
    KILN_ASSERT(st == KILN_LOAD_OK || text[0] != '\0', "a refusal has a message");
    kiln_elf_fini(&e);
    kiln_arena_fini(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int i = 0; i < KILN_N_ARCHS; i++)
        check(data, size, kiln_arch_of((kiln_arch)i)->elf_machine);
    return 0;
}
