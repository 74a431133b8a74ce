#!/bin/sh
# A Python tool beside ONNX Runtime, in a virtual environment that such tools share.
#     with_onnxruntime.sh SCRIPT KILN FOLDER [arguments of the script]
# Where the wheels cannot be had, the test is left out by name.
set -u
usage="usage: with_onnxruntime.sh SCRIPT KILN FOLDER [arguments]"
script=${1:?$usage} kiln=${2:?$usage} folder=${3:?$usage}
shift 3
here=$(dirname "$0")
name=$(basename "$script" .py)
venv=$(dirname "$folder")/onnxruntime-venv
mkdir -p "$folder"
left_out() {
	echo "$name: left out, $1"
	exit 0
}
if ! "$venv/bin/python" -c 'import onnx, onnxruntime, sympy' 2>/dev/null; then
	python3 -m venv "$venv" || left_out "no Python 3 with venv here: Debian's python3-venv"
	"$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --only-binary=:all: \
		-r "$here/onnxruntime_wheels.txt" ||
		left_out "the wheels of $here/onnxruntime_wheels.txt cannot be had here"
fi
"$venv/bin/python" -B "$here/$script" --kiln "$kiln" --work "$folder" "$@"
status=$?
[ $status -ne 77 ] || exit 0
exit $status
