#!/bin/sh
# Runs a command where nothing is but the system's own programs and libraries, an installed kiln and a folder:
#     in_chroot.sh DEST FOLDER COMMAND
# DEST/opt is /opt there, FOLDER is /here. Exit code 77: this machine lets nobody make such a place.
set -u
dest=$1 folder=$2 command=$3 root=${4:-}
if [ -z "$root" ]; then
	unshare -rm true || exit 77
	root=$(mktemp -d) || exit 2
	unshare -rm sh "$0" "$dest" "$folder" "$command" "$root"
	status=$?
	# Mounts went with the namespace: nothing of theirs is below.
	rm -r --one-file-system "$root"
	exit $status
fi

# bind FROM TO
bind() {
	mkdir -p "$2" && mount --rbind "$1" "$2" || exit 77
}
mkdir "$root/tmp" "$root/dev" && : >"$root/dev/null" && mount --bind /dev/null "$root/dev/null" || exit 77
for d in usr etc bin sbin lib lib64; do
	if [ -L /$d ]; then
		ln -s "$(readlink /$d)" "$root/$d" || exit 77
	elif [ -d /$d ]; then
		bind /$d "$root/$d"
	fi
done
bind "$dest/opt" "$root/opt"
bind "$folder" "$root/here"
exec env -i PATH=/usr/bin:/bin:/usr/sbin TMPDIR=/tmp LC_ALL=C chroot "$root" sh -c "$command"
