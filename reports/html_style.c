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
    "header{padding-top:10px}main>section{margin-top:40px}\n",
    "h1{font-size:24px;line-height:1.2;margin:0;letter-spacing:-.01em}"
    "h2{font-size:23px;line-height:1.25;margin:0 0 12px;letter-spacing:-.005em}"
    "h3{font-size:17px;line-height:1.3;margin:20px 0 8px}"
    "h4{font-size:16px;margin:24px 0 8px}\n",
    "p{margin:8px 0;max-width:76ch}a{color:var(--clay);text-underline-offset:3px}nav "
    "a,th a{text-decoration:none}a:hover{text-decoration:underline}\n",
    "[data-path]{unicode-bidi:isolate}.n,.tick{font-variant-numeric:tabular-nums}\n",
    "span.n,.interval{white-space:nowrap}\n",
    ".title{display:flex;flex-wrap:wrap;align-items:baseline;gap:0 14px}.title nav{"
    "margin-left:auto}.title nav ul{margin:0}header .meta{font-size:14px;margin:2px "
    "0;max-width:none}dd code{font-size:14px}"
    "header .meta code{display:inline-block;max-width:13ch;overflow:hidden;"
    "text-overflow:ellipsis;white-space:nowrap;vertical-align:bottom}"
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
    ".verdict{display:flex;flex-wrap:wrap;align-items:center;gap:6px "
    "12px}"
    ".verdict>.pill{font-size:20px;padding:2px 16px}.verdict p{margin:0}\n",
    ".counts{display:flex;flex-wrap:wrap;gap:6px 16px;padding:0;margin:10px 0 0;"
    "list-style:none}\n",
    ".look{list-style:none;padding:0;margin:8px 0 0}.look>li{border-left:4px solid "
    "var(--line);padding:0 0 0 10px;margin:8px 0}.look>li.bad-edge{"
    "border-color:var(--bad)}.look>li.warn-edge{border-color:var(--warn)}"
    ".look p{margin:0}\n",
    /* The first screen: what there is to know, and all jobs beside it. */
    ".first{display:grid;grid-template-columns:minmax(0,1fr);gap:16px;"
    "margin-top:8px;font-size:14px}.first h2{font-size:17px;margin:0 0 4px}"
    ".first h3{font-size:15px;margin:14px 0 4px}.first details "
    "ul{padding-left:18px;margin:4px 0}.ratios tbody th{min-width:104px}.sticky tbody "
    "th{min-width:84px}.first .card{margin:0;"
    "padding:12px 16px}.first .verdict>.pill{font-size:17px}"
    ".first table{font-size:13px}.first dl{margin:6px 0;gap:8px 16px}"
    ".first dd{font-size:15px}.first dt,.first small,.first .on{font-size:12px}"
    "#jobs .card{padding:10px 10px 10px 12px}table.jobs thead "
    "th{white-space:normal;line-height:16px}#jobs .scroll{margin:0}#jobs "
    "caption{position:absolute;width:1px;height:1px;"
    "overflow:hidden;clip-path:inset(50%)}\n",
    "@media(min-width:1000px){.first{grid-template-columns:276px "
    "minmax(0,1fr)}#jobs{position:relative}#jobs>.tools{position:absolute;right:0;top:"
    "0;margin:0}}\n",
    "table.jobs td,table.jobs th{padding:0 7px 0 "
    "0;line-height:20px;vertical-align:middle;"
    "white-space:nowrap}table.jobs .pill{font-size:12px;line-height:16px;padding:0 7px}"
    "table.jobs tbody th:first-child,table.jobs thead th:first-child{padding-left:8px}"
    "table.jobs b{color:var(--good)}table.jobs em{font-style:normal;color:var(--bad);"
    "font-weight:600}"
    ".bad-row>th:first-child{box-shadow:inset 4px 0 var(--bad)}"
    ".warn-row>th:first-child{box-shadow:inset 4px 0 var(--warn)}\n",
    "button,input{font:inherit;color:inherit}button{background:none;border:1px solid "
    "var(--line);border-radius:6px;padding:1px 10px;cursor:pointer}"
    "th button{border:0;padding:0;font-weight:600;white-space:inherit;"
    "text-align:inherit}th button:hover{text-decoration:underline}"
    "th[aria-sort] button:after{content:' \\25B4'}"
    "th[aria-sort=descending] button:after{content:' \\25BE'}"
    ".tools{display:flex;flex-wrap:wrap;gap:4px 16px;align-items:center;"
    "margin:0 0 6px;font-size:13px}.tools input[type=search]{"
    "background:var(--ground);border:1px solid var(--line);border-radius:6px;"
    "padding:1px 8px;width:180px}[hidden]{display:none}"
    ":focus-visible{outline:2px solid var(--clay);outline-offset:1px}\n",
    /* A job's line and its fold. */
    "details.job{margin:8px 0;background:var(--card);border:1px solid var(--line);"
    "border-radius:10px}details.job>summary{display:flex;flex-wrap:wrap;"
    "align-items:baseline;gap:2px 12px;padding:7px 16px;font-weight:400;"
    "font-size:14px}details.job>summary:before{content:'\\25B8';color:var(--muted)}"
    "details.job[open]>summary:before{content:'\\25BE'}"
    "summary::-webkit-details-marker{color:var(--muted)}"
    "details.job>summary h3{margin:0;font-size:16px}"
    "details.job>summary .time{margin-left:auto}"
    "details.job.bad-row{border-left:5px solid var(--bad)}"
    "details.job.warn-row{border-left:5px solid var(--warn)}"
    "details.job>.card{margin:0;border:0;border-top:1px solid var(--line);"
    "border-radius:0 0 10px 10px;padding:14px 20px;scroll-margin-top:56px}"
    ".card>h4:first-child,.card>details:first-child{margin-top:0}\n",
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
    ".sticky th:first-child{position:sticky;left:0;background:var(--card);z-index:1}"
    ".of-steps td,.of-steps th{padding:4px 12px 4px 0;font-size:13px}"
    ".of-steps td{white-space:nowrap}.of-steps small{display:block;"
    "color:var(--muted);font-size:12px}.of-steps tbody th{overflow-wrap:anywhere;"
    "min-width:130px}.of-steps thead th{white-space:normal}"
    ".of-steps td:nth-child(n+3):nth-child(-n+9),.of-work "
    "td:nth-child(n+3):nth-child(-n+9){text-align:right}.of-steps "
    "i{display:block;height:4px;border-radius:2px;margin-top:3px;width:24px}"
    ".of-steps i:not([class]){background:linear-gradient(90deg,var(--bar) "
    "var(--of),var(--line) var(--of));width:auto;min-width:56px}"
    ".of-work td{font-size:13px;white-space:nowrap}.of-work td:last-child{"
    "white-space:normal;overflow-wrap:anywhere;min-width:180px}.of-work "
    "tbody th{font-size:13px;min-width:130px;overflow-wrap:anywhere}.of-work thead "
    "th{white-space:normal}"
    ".wide td{white-space:nowrap}.wide thead th{white-space:normal}.wide "
    "td.wrap{white-space:normal;"
    "min-width:180px}.wide tbody th{min-width:120px}\n",
    "tr.head th{padding-top:18px;font-size:15px;font-weight:600}"
    ".ratios td,.ratios tbody th{vertical-align:middle}.ratios tfoot td{border:0}"
    ".ratios thead th{white-space:normal}.ratios th:first-child{width:24%}"
    ".ratios td:nth-child(3){min-width:180px;width:44%}.ratios .interval,"
    ".ratios th small{color:var(--muted);font-size:13px}.ratios th "
    "small{display:block;overflow-wrap:anywhere}"
    ".plotted{table-layout:fixed}.plotted thead th{white-space:normal}"
    ".plotted th:nth-child(1){width:24%}.plotted th:nth-child(3){width:20%}"
    ".plotted td,.plotted tbody th{vertical-align:middle}.plotted tfoot td,.plotted "
    "tfoot th{border:0}"
    ".plotted .interval,.plotted th small{color:var(--muted);font-size:13px}"
    ".plotted th small{display:block;overflow-wrap:anywhere}\n",
    "svg{display:block;overflow:visible}svg.row{width:100%;height:22px}"
    "svg.axis{width:100%;height:20px}"
    "svg.stack{width:100%;height:22px;"
    "border-radius:4px}svg text{fill:var(--muted);font-size:12px}"
    ".grid{stroke:var(--line)}.one{stroke:var(--ink);stroke-dasharray:3 3}"
    ".kiln{fill:var(--bar)}.other{fill:var(--other)}.whisker{stroke:var(--range);"
    "stroke-width:1.5}.dot,svg "
    ".beyond{fill:var(--clay)}svg "
    ".beyond{font-size:20px}.spots{fill-opacity:.6;stroke:var(--ink);"
    "stroke-width:.75}.leader{stroke:var(--muted)}.r1{stroke-dasharray:9 4}"
    ".r2{stroke-dasharray:4 3}.r3{stroke-dasharray:1.5 3}.band{fill:var(--other);"
    "fill-opacity:.22}.limit{stroke:var(--bad);stroke-dasharray:5 4}svg "
    ".off{fill:none;stroke:var(--clay);stroke-width:1.5}svg "
    "text.off{fill:var(--clay);stroke:none;fill-opacity:.55}.roof{stroke:var(--ink);"
    "stroke-width:1.5}.frame{"
    "stroke:var(--muted)}.curve{fill:none;stroke:var(--clay);stroke-width:2}\n",
    ".o0{fill:var(--o1);background:var(--o1)}.o1{fill:var(--o2);background:var(--o2)}"
    ".o2{fill:var(--o3);background:var(--o3)}.o3{fill:var(--o4);background:var(--o4)}"
    ".o4{fill:var(--o5);background:var(--o5)}"
    ".key{display:inline-block;width:11px;height:11px;border-radius:3px;"
    "margin-right:7px}\n",
    "figure{margin:12px 0}.plot{margin:30px 14px 44px 58px}.plot svg{width:100%;"
    "height:300px}svg "
    ".label{fill:var(--ink);font-weight:700;paint-order:stroke;stroke:var(--card);"
    "stroke-width:3px}"
    ".strip{margin:14px 16px}svg.dots{width:100%;height:72px}.strip "
    "svg.axis{width:100%;height:20px}.roofline{display:flex;flex-wrap:wrap;gap:8px "
    "24px;align-items:flex-start}.roofline .scroll{margin:0;max-width:100%}"
    ".roofline figcaption{flex:1 1 300px;min-width:0}"
    ".keys{list-style:none;padding:0;margin:10px 0 0}.keys li{margin:2px 0}"
    ".keys "
    ".swatch{width:28px;height:12px;display:inline-block;vertical-align:middle}\n",
    ".nights svg{height:160px}.nights figcaption{margin-top:24px}.change{"
    "stroke:var(--ink);stroke-dasharray:5 4}.commit{stroke:var(--other);stroke-width:2}"
    ".alarm{fill:var(--bad)}.better{fill:var(--good)}svg .accepted{fill:var(--clay)}\n",
    "details{margin:10px 0}summary{cursor:pointer;font-weight:600;padding:4px 0}"
    "summary h4{display:inline;margin:0;font-size:15px}\n",
    "footer{margin-top:64px;padding-top:16px;padding-bottom:40px;color:var(--muted);"
    "font-size:14px;border-top:1px solid var(--line)}nav "
    "ul{display:flex;flex-wrap:wrap;"
    "gap:4px 18px;list-style:none;padding:0;margin:16px 0 0;font-size:15px}\n",
    "@media(max-width:600px){table.jobs tbody "
    "th{white-space:normal;min-width:118px;max-width:118px}main,header,footer{padding-"
    "left:14px;padding-right:14px}"
    "header{padding-top:20px}main>section{margin-top:40px}h1{font-size:26px}"
    "h2{font-size:21px}.card{padding:16px 14px}.plotted "
    "th:nth-child(1){width:32%}.plotted "
    "th:nth-child(3){width:34%}.plotted{font-size:13px}.plotted "
    ".interval{font-size:12px}.odd{display:none}"
    ".plotted .interval{display:block}dl{grid-template-columns:repeat(auto-fill,"
    "minmax(128px,1fr));gap:12px 14px}.plot{margin-left:46px}}\n",
    /* On paper: all open, nothing to press, a job begins a page, tables as narrow as it
       is. */
    "@media print{:root{color-scheme:light}body{background:#fff;font-size:10pt}"
    "main,header,footer{padding-left:0;padding-right:0}nav,.tools{display:none}"
    ".card,.first .card,details.job>.card,#jobs .card{border:0;padding:0}"
    ".scroll{overflow:visible}table td,table th,tbody th{font-size:7.5pt!important;"
    "white-space:normal!important;min-width:0!important;padding-right:6px}"
    "table small,table .on,.ratios .interval{font-size:7pt!important}.of-steps tbody "
    "th{min-width:76px!important}.of-steps i:not([class]){min-width:30px}.ratios "
    "td:nth-child(3){width:40%}"
    "tr,figure,.look>li,dl{break-inside:avoid}"
    "h2,h3,h4,summary,caption{break-after:avoid}.sticky "
    "th:first-child{position:static}details.job,details.job.bad-row,"
    "details.job.warn-row{border:0}details.job>summary{padding:0}"
    "details.job+details.job,#each,#machine{break-before:page}"
    "th button,a{color:inherit;text-decoration:none}"
    "details::details-content{content-visibility:visible;display:block}"
    "*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}\n",
    NULL,
};
