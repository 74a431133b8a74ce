/* What is known of cores by who made them. */
#include "compiler/target/x86/x86.h"
#include "tests/support/kiln_test.h"

typedef struct row {
    const char *name, *vendor;
    int family, vector_bytes;
    int ports, loads, l3_rate; /* 0: what the shipped profile says */
} row;

static row rows[] = {
    {"zen4_does_halves", "AuthenticAMD", 0x19, 64, 1, 1, 20},
    {"zen3_is_as_shipped", "AuthenticAMD", 0x19, 32, 0, 0, 0},
    {"zen5_is_as_shipped", "AuthenticAMD", 0x1a, 64, 0, 0, 0},
    {"intel_servers_have_a_mesh", "GenuineIntel", 6, 64, 2, 2, 10},
    {"intel_without_avx512_is_as_shipped", "GenuineIntel", 6, 32, 0, 0, 0},
    {"others_are_as_shipped", "CentaurHauls", 7, 64, 0, 0, 0},
};

static void check_core(void **state) {
    const row *r = *state;
    const kiln_core before = kiln_profile_at(0)->core;
    kiln_core c = before;
    assert_int_equal(kiln_x86_core(r->vendor, r->family, r->vector_bytes, &c),
                     r->ports > 0);
    assert_int_equal(c.fma_ports, r->ports > 0 ? r->ports : before.fma_ports);
    assert_int_equal(c.load_ports, r->ports > 0 ? r->loads : before.load_ports);
    assert_int_equal(c.l3_rate, r->ports > 0 ? r->l3_rate : before.l3_rate);
    assert_true(c.l2_rate >= c.l3_rate && c.l3_rate >= c.memory_rate);
    assert_int_equal(c.memory_latency, 0); /* nobody measured it */
}

int main(void) {
    kiln_test_add_rows(check_core, rows);
    return kiln_test_run("x86_core");
}
