# Reads unused.txt, then C files and tables. Finds functions and enumerators that a header of the
# product declares and nothing mentions but their definition and tests. Such a name is a promise
# without a caller: connect it, delete it, or say in unused.txt why it stays. runtime/kiln.h is for
# applications: its callers are elsewhere.

FILENAME ~ /unused\.txt$/ {
    sub(/#.*/, "")
    if (NF == 0) next
    split($0, part, /[ \t]*\|[ \t]*/)
    allowed[part[1]] = FNR
    next
}

FNR == 1 {
    in_comment = 0
    in_enum = 0
    n_files++
    is_test = FILENAME ~ /^tests\//
    is_header = FILENAME ~ /\.h$/ && FILENAME != "runtime/kiln.h" && !is_test
}

{
    text = code_of($0)
    if (is_header && text ~ /enum[^;]*\{/) in_enum = 1
    rest = text
    while (match(rest, /[A-Za-z_][A-Za-z_0-9]*/)) {
        word = substr(rest, RSTART, RLENGTH)
        after = substr(rest, RSTART + RLENGTH)
        rest = after
        if (word !~ /^(kiln|KILN)_.*[^_]$/) continue # _ at the end: glued to a row's name
        if (is_test) { in_tests[word]++; continue }
        in_product[word]++
        if (!is_header || (word in declared)) continue
        # a prototype at the left margin or behind its type; an enumerator
        if (word ~ /^kiln_/ && after ~ /^\(/ && text ~ /^[a-z]/ && text !~ /[=#]/ && text !~ /^(static|return|typedef)/)
            declared[word] = FILENAME ":" FNR
        else if (in_enum && word ~ /^KILN_/ && word !~ /_H$/) {
            declared[word] = FILENAME ":" FNR
            is_enumerator[word] = 1
        }
    }
    if (in_enum && text ~ /\}/) in_enum = 0
}

END {
    if (n_files == 0) { print "unused: no C file was found"; exit 1 }
    for (word in declared) {
        # the declaration, and of a function its definition
        if (in_product[word] > (word in is_enumerator ? 1 : 2)) continue
        if (word in allowed) { met[word] = 1; continue }
        where = in_tests[word] > 0 ? " and in tests" : ""
        printf("%s: %s is mentioned nowhere but in its definition%s\n", declared[word], word, where) | "sort"
        n_bad++
    }
    for (word in allowed)
        if (!(word in met)) {
            printf("tools/unused.txt:%d: %s has callers now, or is gone: take the line out\n", allowed[word], word) | "sort"
            n_bad++
        }
    close("sort")
    if (n_bad == 0) printf "unused: %d files, every declared name has a caller, or a reason\n", n_files
    exit n_bad > 0
}
