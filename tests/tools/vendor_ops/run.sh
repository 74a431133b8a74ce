#!/bin/sh
# Vendor operators against ONNX Runtime in a virtual environment of their own.
#     run.sh KILN FOLDER [arguments of vendor_ops.py]
# Where the wheels cannot be had, the test is left out by name.
set -u
kiln=${1:?usage: run.sh KILN FOLDER [arguments]} folder=${2:?usage: run.sh KILN FOLDER [arguments]}
shift 2
here=$(dirname "$0")
venv=$folder/venv
mkdir -p "$folder"
left_out() {
	echo "vendor-ops: left out, $1"
	exit 0
}
if ! "$venv/bin/python" -c 'import onnx, onnxruntime, sympy' 2>/dev/null; then
	python3 -m venv "$venv" || left_out "no Python 3 with venv here: Debian's python3-venv"
	"$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --only-binary=:all: \
		-r "$here/wheels.txt" || left_out "the wheels of $here/wheels.txt cannot be had here"
fi
"$venv/bin/python" -B "$here/vendor_ops.py" --kiln "$kiln" --work "$folder/cases" "$@"
status=$?
[ $status -ne 77 ] || exit 0
exit $status
