# Finds functions longer than MAX_FUNCTION lines and files longer than MAX_FILE.
# Leans on the house format: a function ends with a line that is just "}", and began with the
# last line before it that starts in column 0 with a letter and is not itself such an end.
BEGIN { MAX_FUNCTION = 80; MAX_FILE = 900 }

function end_of_file() {
    if (lines > MAX_FILE) {
        printf "%s:%d: the file has %d lines, at most %d; split it by what it does\n", \
            file, lines, lines, MAX_FILE
        n_bad++
    }
}

FNR == 1 { end_of_file(); file = FILENAME; n_files++; start = 0; open = 0 }
{ lines = FNR }

/^[A-Za-z_]/ && !open { start = FNR; name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
/\{$/ && start && !open { open = 1 }
/^\}/ {
    if ($0 == "}" && open && FNR - start + 1 > MAX_FUNCTION) {
        printf "%s:%d: '%s' has %d lines, at most %d; split it, or make its switch a table\n", \
            FILENAME, start, name, FNR - start + 1, MAX_FUNCTION
        n_bad++
    }
    open = 0
    start = 0
}

END {
    end_of_file()
    if (n_files == 0) { print "lengths: no C file was found"; n_bad++ }
    if (n_bad == 0) printf "lengths: %d files: functions within %d lines, files within %d\n", \
        n_files, MAX_FUNCTION, MAX_FILE
    exit n_bad > 0
}
