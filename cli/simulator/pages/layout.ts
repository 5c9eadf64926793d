// Shared layout of the simulator's pages: frame, style, headers and HTML escaping.
import { escaped, hashOf } from '../../../lib/html.ts';

/** A whole page; `main` is HTML, `title` is text. */
export function pageOf(title: string, main: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${main}
</main>
</body>
</html>
`;
}

export function messagePage(title: string, message: string): string {
  return pageOf(title, `<h1>${escaped(title)}</h1>\n<p>${escaped(message)}</p>`);
}

/** Submits the form that returns the customer to the merchant. The page also works without scripts. */
export const RETURN_SCRIPT =
  "document.getElementById('hint').hidden=false;setTimeout(()=>document.getElementById('back').submit(),4000)";

const STYLE = `
:root{color-scheme:light dark;--page:#eef1f6;--card:#fff;--text:#1a2230;--soft:#566175;--line:#d9dfe9;--main:#1f5fd0;--on-main:#fff;--good:#12703f;--good-bg:#e3f5ea;--bad:#a52222;--bad-bg:#fcebea;--muted-bg:#eef1f6}
@media (prefers-color-scheme:dark){:root{--page:#10141b;--card:#1a202b;--text:#e9edf5;--soft:#9ba8bd;--line:#323c4d;--main:#7fb0ff;--on-main:#0c1830;--good:#7fdba6;--good-bg:#143425;--bad:#ff9d94;--bad-bg:#3d1d1e;--muted-bg:#262e3c}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--page);color:var(--text);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:26rem;padding:1.75rem;background:var(--card);border:1px solid var(--line);border-radius:1rem;box-shadow:0 1rem 3rem rgb(0 0 0/.08)}
.badge{display:inline-block;margin:0 0 1.25rem;padding:.15rem .7rem;border-radius:1rem;background:var(--muted-bg);color:var(--soft);font-size:.8rem}
h1{margin:0;font-size:1.15rem;overflow-wrap:anywhere}
.label{color:var(--soft);font-weight:400}
.amount{margin:.15rem 0 1rem;overflow-wrap:anywhere}
.figure{font-size:2.6rem;font-weight:700;letter-spacing:-.02em;font-variant-numeric:tabular-nums}
.currency{color:var(--soft);font-weight:600}
dl{margin:0 0 1.25rem;padding:.75rem 0;border-block:1px solid var(--line)}
dl div{display:flex;justify-content:space-between;gap:1.5rem}
dt{color:var(--soft)}
dd{margin:0;text-align:right;overflow-wrap:anywhere}
.id{font:.8rem/1.9 ui-monospace,monospace}
form{display:grid;gap:.65rem}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:.65rem}
button{min-height:2.9rem;padding:.5rem 1rem;border:1px solid var(--line);border-radius:.6rem;background:transparent;color:inherit;font:inherit;cursor:pointer}
button:hover{border-color:var(--main)}
button:focus-visible{outline:3px solid var(--main);outline-offset:2px}
.primary{border-color:var(--main);background:var(--main);color:var(--on-main);font-weight:600}
.primary:hover{filter:brightness(1.08)}
.link{min-height:2.5rem;border:0;color:var(--soft);font-size:.9rem;text-decoration:underline}
main>:last-child{margin-bottom:0}
.said{padding:.8rem 1rem;border-radius:.6rem;background:var(--muted-bg)}
.said+form{margin-top:1.25rem}
.said h2{margin:0;font-size:1.05rem}
.said p{margin:0}
.good{background:var(--good-bg)}.good h2{color:var(--good)}
.bad{background:var(--bad-bg)}.bad h2{color:var(--bad)}
.open{margin:0;padding:0;list-style:none;display:grid;gap:.65rem}
.open a{display:flex;justify-content:space-between;gap:1rem;color:inherit}
.hint{margin:0;color:var(--soft);font-size:.85rem;text-align:center}
`;

/** Headers of every page: no external resources, no framing, no caching. */
export const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src '${hashOf(STYLE)}'`,
    `script-src '${hashOf(RETURN_SCRIPT)}'`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};
