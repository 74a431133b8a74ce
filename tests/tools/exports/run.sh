#!/bin/sh
# Networks exported by PyTorch, in a virtual environment of their own.
#     run.sh KILN FOLDER exports|forms [arguments of exports.py, forms.py]
# Where the wheels cannot be had (several GB), the test is left out by name.
set -u
usage="usage: run.sh KILN FOLDER exports|forms [arguments]"
kiln=${1:?$usage} folder=${2:?$usage} what=${3:?$usage}
shift 3
here=$(dirname "$0")
venv=${KILN_EXPORTS_VENV:-$folder/venv}
mkdir -p "$folder"
left_out() {
	echo "exports: left out, $1"
	exit 0
}
if ! "$venv/bin/python" -c 'import onnxruntime, onnxscript, sympy, torchvision, transformers' 2>/dev/null; then
	python3 -m venv "$venv" || left_out "no Python 3 with venv here: Debian's python3-venv"
	"$venv/bin/python" -m pip install --quiet --no-input --disable-pip-version-check --only-binary=:all: \
		-r "$here/wheels.txt" || left_out "the wheels of $here/wheels.txt cannot be had here"
fi
exec "$venv/bin/python" -B "$here/$what.py" --kiln "$kiln" --work "$folder/$what" "$@"
