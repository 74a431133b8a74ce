#!/bin/sh
# The commit that this code is, with "-modified" behind it where a file differs from it or is not in it;
# nothing where nobody knows. An exported archive has it in the next line (.gitattributes).
exported='$Format:%H$'
case $exported in
*Format*) ;;
*) echo "$exported" && exit ;;
esac
cd "$(dirname "$0")/.." || exit 0
# Inside of another project's repository the commit would be that one's.
test "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" || exit 0
commit=$(git rev-parse --verify -q HEAD) || exit 0
test -z "$(git status --porcelain 2>/dev/null)" || commit=$commit-modified
echo "$commit"
