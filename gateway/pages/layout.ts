// Shared layout of the pages for customers: frame, style, headers and HTML escaping. They load nothing.
import { escaped, hashOf } from '../../lib/html.ts';
import type { RouteResponse } from '../routes/route.ts';
import { headersFor } from '../server/security-headers.ts';

/** HTML that is safe to send. */
export type Html = { readonly html: string };

/** Builds HTML. Escapes each value that is no `Html`. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (Html | string | readonly Html[])[]
): Html {
  const text = (value: Html | string | readonly Html[]): string => {
    if (typeof value === 'string') return escaped(value);
    return 'html' in value ? value.html : value.map((each) => each.html).join('\n');
  };
  return {
    html: parts.map((part, index) => (index === 0 ? part : text(values[index - 1] ?? '') + part)).join(''),
  };
}

export const NOTHING: Html = { html: '' };

export type PageParts = {
  readonly title: string;
  readonly main: Html;
  readonly head?: Html;
  readonly status?: number;
  /** Additional headers: name, value, name, value, … */
  readonly headers?: readonly string[];
  /** A script of its own; the policy allows no other. It may make requests to the hub. */
  readonly script?: PageScript;
  readonly hasForm?: boolean;
};

export type PageScript = { readonly source: string; readonly hash: string };

export function pageScript(source: string): PageScript {
  return { source, hash: hashOf(source) };
}

/** A response with a whole page. Nobody may cache it. */
export function pageResponse(parts: PageParts): RouteResponse {
  const { title, main, head = NOTHING, status = 200, headers = [], script, hasForm = false } = parts;
  const body = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
${{ html: `<style>${STYLE}</style>` }}
${head}
</head>
<body>
<main>
${main}
</main>
${script ? { html: `<script>${script.source}</script>` } : NOTHING}
</body>
</html>
`;
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    body: body.html,
    headers,
    securityHeaders: headersOf(script, hasForm),
  };
}

function headersOf(script: PageScript | undefined, hasForm: boolean): string[] {
  const policy = [
    "default-src 'none'",
    `style-src '${hashOf(STYLE)}'`,
    ...(script ? [`script-src '${script.hash}'`, "connect-src 'self'"] : []),
    // Browsers hold the redirect of a form to it too, and the hub does not know the addresses of checkouts.
    hasForm ? "form-action 'self' https: http:" : "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  // With no-referrer, a browser sends `Origin: null` with a form, and the hub could not check where it comes from.
  return headersFor(policy.join('; '), hasForm ? 'same-origin' : 'no-referrer');
}

const STYLE = `
:root{color-scheme:light dark;--page:#f2f4f8;--card:#fff;--text:#1a2230;--soft:#525d70;--line:#8a94a6;--main:#1f5fd0;--on-main:#fff;--good:#12703f;--bad:#a52222}
@media (prefers-color-scheme:dark){:root{--page:#10141b;--card:#1a202b;--text:#e9edf5;--soft:#a5b1c5;--line:#6b7891;--main:#7fb0ff;--on-main:#0c1830;--good:#7fdba6;--bad:#ff9d94}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.25rem;background:var(--page);color:var(--text);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:30rem;padding:1.75rem;background:var(--card);border-radius:1rem;overflow-wrap:anywhere}
h1{margin:0 0 .75rem;font-size:1.5rem;line-height:1.25}
h2{margin:1.5rem 0 .5rem;font-size:1.05rem}
p{margin:0 0 1rem}
main>:last-child{margin-bottom:0}
.soft{color:var(--soft)}
.good{color:var(--good)}
.bad{color:var(--bad)}
form{display:grid;gap:1rem}
label{display:grid;gap:.25rem;font-weight:600}
fieldset{margin:0;padding:.75rem 1rem;border:1px solid var(--line);border-radius:.6rem}
fieldset label{display:flex;gap:.6rem;align-items:center;font-weight:400}
input[type=text],input[type=email]{width:100%;min-height:2.9rem;padding:.5rem .75rem;border:1px solid var(--line);border-radius:.6rem;background:transparent;color:inherit;font:inherit}
button,.button{display:inline-block;min-height:2.9rem;padding:.65rem 1.1rem;border:1px solid var(--main);border-radius:.6rem;background:var(--main);color:var(--on-main);font:inherit;font-weight:600;text-decoration:none;cursor:pointer}
.key{display:block;margin:0 0 .75rem;padding:.9rem 1rem;border:1px solid var(--line);border-radius:.6rem;font:1.05rem/1.5 ui-monospace,monospace;user-select:all}
a{color:var(--main)}
a.button{color:var(--on-main)}
:focus-visible{outline:3px solid var(--main);outline-offset:2px}
[hidden]{display:none}
`;
