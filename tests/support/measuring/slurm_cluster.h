/* A Slurm of a test's own on this machine: slurmctld and several slurmd, each a node, in
 * a temporary folder, on ports that were free; no systemd, munge or cgroups. */
#ifndef KILN_TESTS_SUPPORT_SLURM_CLUSTER_H
#define KILN_TESTS_SUPPORT_SLURM_CLUSTER_H

#include "tests/support/kiln_test.h"

enum { KILN_TEST_SLURM_NODES = 4 };

/* Starts it; its nodes are n1, n2, ... and all are idle. From then on Slurm's commands
 * that this process starts ask it (SLURM_CONF). Skips the test by name where Slurm is
 * not installed. It ends with the program, and with it whatever runs there. */
void kiln_test_slurm(void);
/* As a power cut: the daemon of node nK and all that runs there are gone at once. */
void kiln_test_slurm_kill_node(int k);
/* Node nK has this job's processes now. */
bool kiln_test_slurm_is_busy(int k);

#endif
