// The checkout page of both providers: what is paid to whom, three buttons, and what happened then.
import { createHash } from 'node:crypto';
import { formatAmount } from './amount.ts';
import { mayDecide, type Payment } from './ledger.ts';

/** The way back to the merchant: a form that the browser posts, as gateway_one does. */
export type Return = { readonly action: string; readonly fields: Readonly<Record<string, string>> };

/** The page as HTML. `back` is there once the customer has decided; `notice` says what else there is to know. */
export function checkoutPage(
  payment: Payment,
  { back, notice }: { readonly back?: Return; readonly notice?: string } = {},
): string {
  const amount = formatAmount(payment.amount);
  const { title, tone, detail } = SAID[payment.state];
  const state =
    payment.state === 'initiated'
      ? ''
      : `<div class="said ${tone}" role="status"><h2>${title}</h2><p>${escaped(notice ?? detail)}</p></div>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${payment.state === 'initiated' ? 'Pay' : `${title}:`} ${amount} ${payment.amount.currency}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<p class="badge">Simulator: no real money moves</p>
<h1><span class="label">Pay to</span> ${escaped(payment.merchant)}</h1>
<p class="amount"><span class="figure">${amount}</span> <span class="currency">${payment.amount.currency}</span></p>
<dl>
<div><dt>Order</dt><dd>${escaped(payment.description)}</dd></div>
<div><dt>Transaction</dt><dd class="id">${escaped(payment.merchantTransactionId)}</dd></div>
<div><dt>Provider</dt><dd>${PROVIDER[payment.gateway]}</dd></div>
</dl>
${state}
${back === undefined ? buttons(payment) : returnForm(payment, back)}
</main>
</body>
</html>
`;
}

export function notFoundPage(): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>No such checkout</title><style>${STYLE}</style></head>
<body><main><h1>No such checkout</h1><p>The simulator keeps payments in memory: it may have been restarted.</p></main></body></html>
`;
}

const PROVIDER = { gateway_one: 'gateway_one, hosted checkout', gateway_two: 'gateway_two, wallet' } as const;

const SAID = {
  initiated: { title: 'Open', tone: 'muted', detail: '' },
  authorized: {
    title: 'Authorized',
    tone: 'good',
    detail: 'The merchant can collect the money now. You may close this tab.',
  },
  paid: { title: 'Paid', tone: 'good', detail: 'The money has moved.' },
  failed: { title: 'Failed', tone: 'bad', detail: 'The payment was declined. No money has moved.' },
  cancelled: { title: 'Cancelled', tone: 'muted', detail: 'You have cancelled. No money has moved.' },
  reversed: { title: 'Reversed', tone: 'bad', detail: 'The money was given back.' },
} as const;

function buttons(payment: Payment): string {
  if (!mayDecide(payment)) return '';
  const [pay, wallet] = payment.gateway === 'gateway_two' ? ['Authorize', true] : ['Pay', false];
  const again = payment.state === 'initiated' ? pay : `${pay} after all`;
  const closing = wallet
    ? '<button class="link" name="press" value="pay_and_close">Authorize and close the tab without returning</button>'
    : '';
  return `<form method="post" aria-label="Your decision">
<button class="primary" name="press" value="pay">${again} ${formatAmount(payment.amount)} ${payment.amount.currency}</button>
<div class="pair">
<button name="press" value="fail">Fail</button>
<button name="press" value="cancel">Cancel</button>
</div>
${closing}
</form>`;
}

function returnForm(payment: Payment, { action, fields }: Return): string {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  );
  return `<form method="post" action="${escaped(action)}" id="back">
${inputs.join('\n')}
<button class="primary">Return to ${escaped(payment.merchant)}</button>
<p class="hint" id="hint" hidden>You are taken there in a few seconds.</p>
</form>
<script>${SCRIPT}</script>`;
}

/** Only saves a press of the button: without it the page works as well. */
const SCRIPT =
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
.hint{margin:0;color:var(--soft);font-size:.85rem;text-align:center}
`;

/** Headers of every page: nothing from elsewhere, no frames, no copies. */
export const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    `style-src '${hashOf(STYLE)}'`,
    `script-src '${hashOf(SCRIPT)}'`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

function hashOf(source: string): string {
  return `sha256-${createHash('sha256').update(source).digest('base64')}`;
}

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ESCAPED[sign] ?? sign);
}
