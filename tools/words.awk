# Reads words.txt, then C files; finds calls of banned functions outside comments and strings, and switches
# over an enum that was cast to a number: the compiler no longer names the case that a new enumerator forgot.

function is_allowed(word,    n, where, i) {
    n = split(allowed[word], where, " ")
    for (i = 1; i <= n; i++)
        if (FILENAME == where[i] || index(FILENAME, where[i] "/") == 1) return 1
    return 0
}

FILENAME ~ /words\.txt$/ {
    sub(/#.*/, "")
    if (NF == 0) next
    split($0, part, /[ \t]*\|[ \t]*/)
    allowed[part[1]] = part[2]
    remedy[part[1]] = part[3]
    any = any (any == "" ? "" : "|") part[1]
    next
}

FNR == 1 { in_comment = 0; n_files++ }

# Cheap test first: nearly every line ends here.
!in_comment && $0 !~ /\/\*/ && $0 !~ any && $0 !~ /switch \(\(/ { next }
{
    text = code_of($0)
    while (match(text, /[A-Za-z_][A-Za-z_0-9]*[ \t]*\(/)) {
        word = substr(text, RSTART, RLENGTH - 1)
        sub(/[ \t]+$/, "", word)
        before = substr(text, 1, RSTART - 1)
        text = substr(text, RSTART + RLENGTH)
        # a member of that name is somebody else's: x.free(y), x->free(y)
        if ((word in remedy) && before !~ /(\.|->)$/ && !is_allowed(word)) {
            printf "%s:%d: %s is not written here; instead: %s (tools/words.txt)\n", FILENAME, FNR, word, remedy[word]
            n_bad++
        }
        if (word == "switch" && text ~ /^\((int|long|unsigned|size_t)\)/) {
            printf "%s:%d: a switch over a cast is not written here; instead: name every enumerator, without the cast (tools/words.awk)\n", FILENAME, FNR
            n_bad++
        }
    }
}

END {
    if (n_files == 0) { print "words: no C file was found"; n_bad++ }
    if (n_bad == 0) printf "words: %d files are clean\n", n_files
    exit n_bad > 0
}
