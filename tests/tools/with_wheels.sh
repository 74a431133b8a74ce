#!/bin/sh
# A Python tool in a virtual environment that all tools of the same wheels share.
#     with_wheels.sh WHEELS SCRIPT KILN FOLDER [arguments of the script]
# WHEELS is "onnxruntime" for what onnxruntime_wheels.txt lists (and onnxruntime_wheels_alone.txt, without what those ask for, which
# another wheel gives them: tf_keras asks for tensorflow, and tensorflow-cpu is there); the environment is onnxruntime-venv beside FOLDER.
# Where the wheels cannot be had, and where the script ends with status 77, the test is left out by name.
set -u
usage="usage: with_wheels.sh WHEELS SCRIPT KILN FOLDER [arguments]"
wheels=${1:?$usage} script=${2:?$usage} kiln=${3:?$usage} folder=${4:?$usage}
shift 4
here=$(dirname "$0")
name=$(basename "$script" .py)
list=$here/${wheels}_wheels.txt
alone=$here/${wheels}_wheels_alone.txt
[ -f "$alone" ] || alone=/dev/null
venv=$(dirname "$folder")/$wheels-venv
if [ ! -f "$list" ]; then
	echo "with_wheels.sh: no list $list; there must be one for the wheels '$wheels'" >&2
	exit 2
fi
mkdir -p "$folder" || exit 2
left_out() {
	echo "$name: left out, $1"
	exit 0
}

# The lists as they were installed. They lie where the environment's own Python looks for packages: a newer one, which
# looks elsewhere, finds none.
stamp() {
	packages=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null) &&
		echo "$packages/wheels.txt"
}

# One at a time: a second one waits and finds all done.
exec 9>"$venv.lock"
flock 9
if ! cat "$list" "$alone" | cmp -s - "$(stamp)"; then
	python3 -m venv --clear "$venv" || left_out "no Python 3 with venv here: Debian's python3-venv"
	"$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --only-binary=:all: \
		-r "$list" || left_out "the wheels of $list cannot be had here"
	[ "$alone" = /dev/null ] || "$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --only-binary=:all: \
		--no-deps -r "$alone" || left_out "the wheels of $alone cannot be had here"
	cat "$list" "$alone" >"$(stamp)" || exit 2
fi
exec 9>&-

"$venv/bin/python" -B "$here/$script" --kiln "$kiln" --work "$folder" "$@"
status=$?
[ $status -ne 77 ] || exit 0
exit $status
