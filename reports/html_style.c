/* The page's style: one column of sections, colours of fired clay. Light and dark by
 * the reader's choice; tables scroll in frames of their own on narrow screens; in print
 * everything folded is open. Text and ground differ by 4.5 to 1 or more. */
#include "reports/html_page.h"

const char *const kiln_page_style[] = {
    ":root{color-scheme:light dark;--ground:#fcfbf9;--card:#ffffff;--ink:#1e1b18;"
    "--muted:#675f57;--line:#e4ded6;--zebra:#f7f4ef;--clay:#b0431a;--bar:#cf7a50;"
    "--other:#8296a8;--range:#3a3632;--good:#1d6b3a;--good-bg:#e3f1e6;--bad:#a8221c;"
    "--bad-bg:#fae4e1;--warn:#7a5200;--warn-bg:#f8ecd0;--calm:#585149;--calm-bg:#"
    "ece8e2;"
    "--o1:#b0431a;--o2:#d98a54;--o3:#c9a94f;--o4:#8296a8;--o5:#a9a299}\n",
    "@media(prefers-color-scheme:dark){:root{--ground:#171513;--card:#1f1c1a;"
    "--ink:#ece7e1;--muted:#a89f95;--line:#38332e;--zebra:#25211e;--clay:#f09a6c;"
    "--bar:#c46a3f;--other:#6d8296;--range:#e8e0d6;--good:#8fd6a4;--good-bg:#1b3323;"
    "--bad:#ffaaa0;--bad-bg:#431c19;--warn:#f0c66e;--warn-bg:#3a2c0e;--calm:#c2b9ae;"
    "--calm-bg:#322d29;--o1:#e07a48;--o2:#b9824f;--o3:#a89044;--o4:#6d8296;"
    "--o5:#7b746c}}\n",
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n",
    "body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,"
    "-apple-system,'Segoe UI',Roboto,'Helvetica Neue',sans-serif;"
    "overflow-wrap:anywhere}\n",
    "main,header,footer{max-width:1240px;margin:0 auto;padding:0 24px}\n",
    "header{padding-top:32px}main>section{margin-top:56px}\n",
    "h1{font-size:32px;line-height:1.2;margin:0;letter-spacing:-.01em}"
    "h2{font-size:23px;line-height:1.25;margin:0 0 12px;letter-spacing:-.005em}"
    "h3{font-size:19px;line-height:1.3;margin:32px 0 10px}"
    "h4{font-size:16px;margin:32px 0 8px}\n",
    "p{margin:8px 0;max-width:76ch}a{color:var(--clay);text-underline-offset:3px}nav "
    "a,th a{text-decoration:none}a:hover{text-decoration:underline}\n",
    "[data-path]{unicode-bidi:isolate}.n,.tick{font-variant-numeric:tabular-nums}\n",
    "span.n,.interval{white-space:nowrap}\n",
    ".brand{font-weight:700;color:var(--clay);letter-spacing:.02em;margin:0}\n",
    ".meta,.note,.on,figcaption{color:var(--muted)}.note,figcaption{font-size:14px}"
    ".on{font-weight:400}.meta span+span:before{content:'\\B7';margin:0 8px}\n",
    "pre{margin:8px 0;padding:10px 12px;background:var(--zebra);border:1px solid "
    "var(--line);border-radius:6px;font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,"
    "Consolas,monospace;white-space:pre-wrap}\n",
    ".card{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:20px 24px;margin-top:20px}.card>:first-child{margin-top:0}\n",
    ".pill{display:inline-block;padding:1px 9px;border-radius:99px;font-size:13px;"
    "font-weight:600;line-height:1.5;white-space:nowrap;overflow-wrap:normal}"
    ".good{color:var(--good);background:var(--good-bg)}"
    ".bad{color:var(--bad);background:var(--bad-bg)}"
    ".warn{color:var(--warn);background:var(--warn-bg)}"
    ".calm{color:var(--calm);background:var(--calm-bg)}\n",
    ".verdict{display:flex;flex-wrap:wrap;align-items:center;gap:8px "
    "16px;margin-top:24px}"
    ".verdict>.pill{font-size:22px;padding:4px 18px}.verdict p{margin:0}\n",
    ".counts{display:flex;flex-wrap:wrap;gap:6px 16px;padding:0;margin:12px 0 0;"
    "list-style:none}\n",
    ".look{list-style:none;padding:0;margin:12px 0 0}.look>li{border-left:4px solid "
    "var(--line);padding:2px 0 2px 14px;margin:14px 0}.look>li.bad-edge{"
    "border-color:var(--bad)}.look>li.warn-edge{border-color:var(--warn)}"
    ".look p{margin:2px 0}.look ul{margin:2px 0;padding-left:20px}\n",
    "dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(176px,1fr));"
    "gap:14px 20px;margin:14px 0}dt{color:var(--muted);font-size:13px}"
    "dd{margin:0;font-size:18px;line-height:1.35}dd .interval,dd small{display:block;"
    "font-size:13px;color:var(--muted)}dd.text{font-size:15px}\n",
    ".scroll{overflow-x:auto;margin:12px 0}.scroll:focus-visible{outline:2px solid "
    "var(--clay)}table{border-collapse:collapse;width:100%;font-size:14px}"
    "caption{text-align:left;color:var(--muted);padding:0 0 6px;caption-side:top}\n",
    "th,td{padding:6px 10px 6px 0;text-align:left;vertical-align:top;border-bottom:1px "
    "solid var(--line);overflow-wrap:normal}thead th{font-weight:600;font-size:13px;"
    "color:var(--muted);vertical-align:bottom;white-space:nowrap}"
    "tbody th{font-weight:500}th.n,td.n{text-align:right;white-space:nowrap}"
    "td.words{color:var(--muted)}td.wrap,tbody th{overflow-wrap:anywhere}.narrow tbody "
    "th{min-width:118px}\n",
    ".sticky th:first-child,.sticky td:first-child{position:sticky;left:0;"
    "background:var(--card);z-index:1}"
    ".wide td{white-space:nowrap}.wide thead th{white-space:normal}.wide "
    "td.wrap{white-space:normal;"
    "min-width:180px}.wide tbody th{min-width:120px}\n",
    "tr.head th{padding-top:18px;font-size:15px;font-weight:600}"
    ".plotted{table-layout:fixed}.plotted thead th{white-space:normal}"
    ".plotted th:nth-child(1){width:24%}.plotted th:nth-child(3){width:20%}"
    ".plotted td,.plotted tbody th{vertical-align:middle}.plotted tfoot td,.plotted "
    "tfoot th{border:0}"
    ".plotted .interval,.plotted th small{color:var(--muted);font-size:13px}"
    ".plotted th small{display:block;overflow-wrap:anywhere}\n",
    "svg{display:block;overflow:visible}svg.row{width:100%;height:22px}"
    "svg.axis{width:100%;height:20px}svg.share{width:64px;height:10px;"
    "display:inline-block;margin-left:8px}svg.stack{width:100%;height:22px;"
    "border-radius:4px}svg text{fill:var(--muted);font-size:12px}"
    ".grid{stroke:var(--line)}.one{stroke:var(--ink);stroke-dasharray:3 3}"
    ".kiln{fill:var(--bar)}.other{fill:var(--other)}.whisker{stroke:var(--range);"
    "stroke-width:1.5}.dot,svg "
    ".beyond{fill:var(--clay)}svg "
    ".beyond{font-size:20px}.spot{fill:var(--clay);fill-opacity:.55;"
    "stroke:var(--clay)}.roof{stroke:var(--ink);stroke-width:1.5}.frame{"
    "stroke:var(--muted)}.curve{fill:none;stroke:var(--clay);stroke-width:2}\n",
    ".o0{fill:var(--o1);background:var(--o1)}.o1{fill:var(--o2);background:var(--o2)}"
    ".o2{fill:var(--o3);background:var(--o3)}.o3{fill:var(--o4);background:var(--o4)}"
    ".o4{fill:var(--o5);background:var(--o5)}"
    ".key{display:inline-block;width:11px;height:11px;border-radius:3px;"
    "margin-right:7px}\n",
    "figure{margin:12px 0}.plot{margin:30px 14px 44px 58px}.plot svg{width:100%;"
    "height:300px}svg "
    ".label{fill:var(--ink);paint-order:stroke;stroke:var(--card);stroke-width:3px}\n",
    ".nights svg{height:160px}.nights figcaption{margin-top:24px}.change{"
    "stroke:var(--ink);stroke-dasharray:5 4}.commit{stroke:var(--other);stroke-width:2}"
    ".alarm{fill:var(--bad)}.better{fill:var(--good)}svg .accepted{fill:var(--clay)}\n",
    "details{margin:10px 0}summary{cursor:pointer;font-weight:600;padding:4px 0}"
    "summary h4{display:inline;margin:0}\n",
    "footer{margin-top:64px;padding-top:16px;padding-bottom:40px;color:var(--muted);"
    "font-size:14px;border-top:1px solid var(--line)}nav "
    "ul{display:flex;flex-wrap:wrap;"
    "gap:4px 18px;list-style:none;padding:0;margin:16px 0 0;font-size:15px}\n",
    "@media(max-width:600px){main,header,footer{padding-left:14px;padding-right:14px}"
    "header{padding-top:20px}main>section{margin-top:40px}h1{font-size:26px}"
    "h2{font-size:21px}.card{padding:16px 14px}.plotted "
    "th:nth-child(1){width:32%}.plotted "
    "th:nth-child(3){width:34%}.plotted{font-size:13px}.plotted "
    ".interval{font-size:12px}.odd{display:none}"
    ".plotted .interval{display:block}dl{grid-template-columns:repeat(auto-fill,"
    "minmax(128px,1fr));gap:12px 14px}.plot{margin-left:46px}}\n",
    "@media print{:root{color-scheme:light}body{background:#fff;font-size:11pt}"
    ".card{border:0;padding:0}.scroll{overflow:visible}.wide td,.wide th{"
    "white-space:normal}table{font-size:8.5pt}tr,figure,.look>li{break-inside:avoid}"
    "h2,h3,h4{break-after:avoid}.sticky th:first-child{position:static}"
    "details::details-content{content-visibility:visible;display:block}"
    "nav{display:none}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n",
    NULL,
};
