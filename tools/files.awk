# Reads paths, a line each; prints those that have a base name of another one. A folder's own header
# X/X.h is named by its folder.
BEGIN { FS = "/" }
{
    stem = $NF
    sub(/\.[ch]$/, "", stem)
    n++
}
NF > 1 && $NF ~ /\.h$/ && stem == $(NF - 1) { next }
$NF in first {
    print $0 " and " first[$NF] ": two files of one name; name both by their folder"
    n_bad++
}
{ first[$NF] = $0 }
END {
    if (!n_bad) print "files: each of " n " has its own name"
    exit n_bad > 0
}
