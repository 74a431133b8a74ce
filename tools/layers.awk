# Reads layers.txt, then C files; prints "FILE:LINE: what is wrong; the remedy". See layers.sh.

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    n_bad++
}
function folder_of(path) { return path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "" }
function base_of(path) { sub(/.*\//, "", path); return path }
function inside(path, folder) { return path == folder || index(path, folder "/") == 1 }

# The longest FOLDER with a row that holds `path`, or "".
function row_of(path) {
    while (path != "" && !(path in allowed)) path = folder_of(path)
    return path
}

# FOLDER/* is all below; a FOLDER with a row is what that row covers, without folders that have
# rows of their own; any other FOLDER is all below.
function reaches(to, path) {
    if (to ~ /\/\*$/) return inside(path, substr(to, 1, length(to) - 2))
    return to in allowed ? row_of(path) == to : inside(path, to)
}

function check_layer(header,    row, n, to, i) {
    row = row_of(FILENAME)
    if (row == "") {
        complain("no row of layers.txt covers this file; add one for its folder")
        return 0
    }
    if (allowed[row] == " *" || row_of(header) == row) return 1
    n = split(allowed[row], to, " ")
    for (i = 1; i <= n; i++) if (reaches(to[i], header)) return 1
    complain("'" row "' must not include '" header "'; it may include:" \
             (n ? allowed[row] : " nothing") " (layers.txt)")
    return 0
}

# Outside a folder only its public header X/X.h is known; inside it and below, all headers are. What
# a folder's parts share is in its support/: that is the folder's own, as if it lay in it.
function check_public(header,    folder) {
    folder = folder_of(header)
    if (base_of(folder) == "support") folder = folder_of(folder)
    if (inside(FILENAME, folder) || inside(FILENAME, "tests") || (header in public)) return
    if (base_of(header) == base_of(folder) ".h") return
    complain("'" header "' is private to " folder "/; include '" folder "/" base_of(folder) \
             ".h', or move the declaration there")
}

function check_library(header,    name, place, n, where, i) {
    if ((header in free) || inside(FILENAME, "tests")) return
    for (name in library)
        if (name ~ /\/$/ ? index(header, name) == 1 : header == name || base_of(header) == name) {
            place = library[name]
            break
        }
    if (place == "") {
        complain("<" header "> has no row in layers.txt; give the library one wrapper: " \
                 "library " header " FILE")
        return
    }
    n = split(place, where, " ")
    for (i = 1; i <= n; i++) {
        if (where[i] ~ /^\*/) {
            if (substr(FILENAME, length(FILENAME) - length(where[i]) + 2) == substr(where[i], 2)) return
        } else if (inside(FILENAME, where[i])) return
    }
    complain("<" header "> is for" place " only; call that wrapper (layers.txt)")
}

FILENAME == "layers.txt" {
    sub(/#.*/, "")
    if (NF == 0) next
    if ($1 == "public") public[$2] = 1
    else if ($1 == "free") for (i = 2; i <= NF; i++) free[$i] = 1
    else if ($1 == "library") for (i = 3; i <= NF; i++) library[$2] = library[$2] " " $i
    else if ($2 == "->") {
        if ($1 in allowed) complain("a second row for '" $1 "'; merge the two")
        allowed[$1] = ""
        for (i = 3; i <= NF; i++) allowed[$1] = allowed[$1] " " $i
    } else complain("not a row; it is 'FOLDER -> FOLDER...', public, free or library")
    next
}

FNR == 1 { n_files++ }

/^[ \t]*#[ \t]*include[ \t]*["<]/ {
    header = $0
    sub(/^[^"<]*["<]/, "", header)
    sub(/[">].*/, "", header)
    if ($0 ~ /include[ \t]*</) { check_library(header); next }
    if (header !~ /\//) {
        complain("\"" header "\" is not written from the root; write \"folder/" header "\"")
        next
    }
    if (check_layer(header)) check_public(header)
}

# Visits what `row` may include, and complains of a way back to a row that led here.
function follow(row, way,    n, to, i, other) {
    if (state[row] == "done") return
    if (state[row] == "open") {
        printf "layers.txt: the rows make a ring:%s -> %s; let one of them be told what it asks\n", \
            substr(way, index(way, " " row " ->")), row
        n_bad++
        return
    }
    state[row] = "open"
    n = split(allowed[row], to, " ")
    for (i = 1; i <= n; i++)
        for (other in allowed)
            if (other != row && to[i] != "*" && reaches(to[i], other)) follow(other, way " " row " ->")
    state[row] = "done"
}

END {
    for (row in allowed) follow(row, "")
    if (n_files == 0) { print "layers: no C file was found"; n_bad++ }
    if (n_bad) printf "layers: %d includes are wrong\n", n_bad
    else printf "layers: the includes of %d files agree with layers.txt\n", n_files
    exit n_bad > 0
}
