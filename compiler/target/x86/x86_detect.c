/* This machine, by cpuid (Intel SDM volume 2, CPUID; AMD64 APM volume 3, appendix E).
 */
#include "compiler/target/x86/x86.h"

#if defined(__x86_64__)
#include "compiler/target/target_internal.h"

#include <cpuid.h>
#include <string.h>

typedef struct leaf {
    unsigned a, b, c, d;
} leaf;

static leaf cpuid(unsigned n, unsigned sub) {
    leaf r = {0, 0, 0, 0};
    if (!__get_cpuid_count(n, sub, &r.a, &r.b, &r.c, &r.d))
        r = (leaf){0, 0, 0, 0};
    return r;
}

static bool has(unsigned reg, int bit) { return (reg >> bit & 1) != 0; }

/* Which vector registers the system saves on a switch: XCR0. */
static unsigned saved_state(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Who made it: 12 letters in b, d, c of leaf 0. */
static void read_vendor(char out[13]) {
    const leaf zero = cpuid(0, 0);
    memcpy(out, &zero.b, 4);
    memcpy(out + 4, &zero.d, 4);
    memcpy(out + 8, &zero.c, 4);
    out[12] = '\0';
}

/* With the extended family where the plain one is full. */
static int family_of(unsigned a) {
    const int family = (int)(a >> 8 & 15);
    return family == 15 ? family + (int)(a >> 20 & 255) : family;
}

static const char *level(bool avx512, bool avx2) {
    return avx512 ? "x86-avx512" : avx2 ? "x86-avx2" : "x86-baseline";
}

kiln_status kiln_x86_detect(kiln_arena *a, kiln_profile *out, kiln_err *err) {
    const leaf one = cpuid(1, 0), seven = cpuid(7, 0), seven1 = cpuid(7, 1),
               extended = cpuid(0x80000001, 0);
    const unsigned saved = has(one.c, 27) ? saved_state() : 0;
    const bool avx = has(one.c, 28) && (saved & 6) == 6;
    /* x86-64-v3 and v4 of the psABI: what the shipped profiles' `cpu` stands for. */
    const bool avx2 = avx && has(seven.b, 5) && has(one.c, 12) && has(one.c, 29) &&
                      has(one.c, 22) && has(seven.b, 3) && has(seven.b, 8) &&
                      has(extended.c, 5);
    const bool avx512 = avx2 && (saved & 0xE6) == 0xE6 && has(seven.b, 16) &&
                        has(seven.b, 17) && has(seven.b, 28) && has(seven.b, 30) &&
                        has(seven.b, 31);
    const bool vnni512 = avx512 && has(seven.c, 11);
    const bool vnni = vnni512 || (avx2 && has(seven1.a, 4));
    kiln_profile p = kiln_profile_base(level(avx512, avx2));
    (void)err;
    p.has_vnni = vnni;
    p.has_bf16 = avx512 && has(seven1.a, 5);
    p.features = kiln_format(a, "%s%s%s", vnni512 ? "+avx512vnni," : "",
                             avx2 && has(seven1.a, 4) ? "+avxvnni," : "",
                             p.has_bf16 ? "+avx512bf16," : "");
    char *end = kiln_str_dup(a, p.features);
    const size_t n = kiln_str_from(end).n;
    if (n > 0)
        end[n - 1] = '\0'; /* the last comma */
    p.features = end;
    char vendor[13];
    read_vendor(vendor);
    (void)kiln_x86_core(vendor, family_of(one.a), p.vector_bytes, &p.core);
    kiln_profile_detect_system(&p);
    *out = p;
    return KILN_OK;
}
#endif
