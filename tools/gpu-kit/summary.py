"""summary.py RESULTS OUT: the steps' JSON files as one text table, one CSV, one HTML page, one JSON."""
import csv
import html
import json
import os
import sys


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def steps_of(folder):
    rows = []
    try:
        with open(os.path.join(folder, "steps.tsv"), encoding="utf-8") as file:
            for line in file:
                rows.append(line.rstrip("\n").split("\t")[:3])
    except OSError:
        pass
    return [["step", "end", "seconds"]] + rows


def number(value, digits=4):
    return "" if not isinstance(value, (int, float)) else f"{value:.{digits}f}"


def baselines_of(line):
    """Of an operator or a number of threads: "cudnn 0.0167 ms, kiln takes 1.37 of it" for each library."""
    found = []
    for b in line.get("baselines") or []:
        if b.get("state") == "measured":
            ratio = (b.get("ratio") or {}).get("estimate")
            found.append(f"{b['name']} {number(b.get('median_ms'))} ms, kiln takes {number(ratio, 2)} of it")
        else:
            found.append(f"{b.get('name')} {b.get('state')}: {b.get('problem')}"[:80])
    return "; ".join(found)


def verdict(output):
    if not output:
        return "not measured"
    return "right" if output.get("ok") else str(output.get("problem"))


def operators(name, document):
    for op in document.get("ops", []):
        yield [name, op.get("name"), number(op.get("median_ms")), number(op.get("gflops"), 0),
               op.get("origin"), op.get("template"), verdict(op.get("output")), baselines_of(op)]


def network(name, document):
    for t in document.get("threads", []) or [{}]:
        yield [name, document.get("model"), number(t.get("median_ms")), number(t.get("gflops"), 0), "", "",
               verdict(document.get("output")), baselines_of(t)]


def tuned(name, document):
    for w in document.get("work", []):
        start, best = w.get("start_ns"), w.get("best_ns")
        yield [name, w.get("name"), number(best / 1e6 if best else None),
               "", f"{start / best:.2f} times as fast" if start and best else "", w.get("template"),
               f"{w.get('new_trials')} trials", ""]


FORMATS = {"kiln-ops-1": operators, "kiln-bench-1": network, "kiln-tune-1": tuned}


def main():
    folder, out = sys.argv[1:]
    documents, rows = {}, []
    for file in sorted(os.listdir(folder), key=lambda f: os.path.getmtime(os.path.join(folder, f))):
        if not file.endswith(".json"):
            continue
        document = read(os.path.join(folder, file))
        if document is None:
            continue
        name = file[: -len(".json")]
        documents[name] = document
        kind = FORMATS.get(document.get("format")) if isinstance(document, dict) else None
        if kind:
            rows += kind(name, document)
    head = ["step", "name", "median ms", "GFLOP/s", "configuration", "template", "verdict", "beside"]
    tables = [steps_of(folder), [head] + rows]
    machine = ""
    try:
        with open(os.path.join(folder, "machine.txt"), encoding="utf-8", errors="replace") as file:
            machine = file.read()
    except OSError:
        pass
    with open(os.path.join(out, "summary.txt"), "w", encoding="utf-8") as file:
        for table in tables:
            widths = [max(len(str(r[c])) for r in table) for c in range(len(table[0]))]
            for row in table:
                file.write("  ".join(str(v).ljust(w) for v, w in zip(row, widths)).rstrip() + "\n")
            file.write("\n")
        file.write(machine)
    with open(os.path.join(out, "results.csv"), "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(tables[1])
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as file:
        json.dump({"format": "kiln-gpu-kit-1", "machine": machine, "steps": tables[0][1:],
                   "results": documents}, file)
    with open(os.path.join(out, "summary.html"), "w", encoding="utf-8") as file:
        file.write("<!doctype html><html lang=en><meta charset=utf-8><title>kiln on a GPU</title>\n"
                   "<style>body{font-family:sans-serif}td,th{padding:2px 8px;text-align:left}</style>\n"
                   "<h1>kiln on a GPU</h1>\n")
        for table in tables:
            file.write("<table>\n")
            for i, row in enumerate(table):
                tag = "td" if i else "th"
                file.write("<tr>" + "".join(f"<{tag}>{html.escape(str(v))}</{tag}>" for v in row) + "</tr>\n")
            file.write("</table>\n")
        file.write(f"<pre>{html.escape(machine)}</pre></html>\n")


main()
