/* Where a database may lie: SQLite's shared memory and locks need a local file system.
 */
#include "tuning_db/tuning_db_internal.h"

#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

/* Those that linux/magic.h does not name. */
#define CIFS_MAGIC 0xff534d42u
#define SMB2_MAGIC 0xfe534d42u
#define LUSTRE_MAGIC 0x0bd00bd0u
#define GPFS_MAGIC 0x47504653u
#define BEEGFS_MAGIC 0x19830326u

static const struct {
    unsigned long magic;
    const char *name;
} network[] = {
    {NFS_SUPER_MAGIC, "NFS"},   {SMB_SUPER_MAGIC, "SMB"}, {CIFS_MAGIC, "CIFS"},
    {SMB2_MAGIC, "SMB 2"},      {AFS_SUPER_MAGIC, "AFS"}, {CODA_SUPER_MAGIC, "Coda"},
    {CEPH_SUPER_MAGIC, "Ceph"}, {LUSTRE_MAGIC, "Lustre"}, {GPFS_MAGIC, "GPFS"},
    {BEEGFS_MAGIC, "BeeGFS"},
};

kiln_status kiln_db_check_place(const char *path, kiln_err *err) {
    struct statfs fs;
    kiln_arena a;
    kiln_arena_init(&a);
    const bool is_known =
        statfs(path, &fs) == 0 || statfs(kiln_path_dir(&a, path), &fs) == 0;
    kiln_arena_fini(&a);
    if (!is_known)
        return KILN_OK; /* opening says what is wrong */
    for (size_t i = 0; i < sizeof network / sizeof network[0]; i++)
        if (((unsigned long)fs.f_type & 0xffffffffu) == network[i].magic)
            return kiln_fail(err, KILN_ERR_UNSUPPORTED,
                             "tuning database '%s' would lie on a network file system "
                             "(%s), where two tuners can damage it; put it on a local "
                             "disk and exchange records by kiln db export and import",
                             path, network[i].name);
    return KILN_OK;
}
