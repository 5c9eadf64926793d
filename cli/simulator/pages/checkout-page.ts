// The checkout page of the providers: payee, amount, three buttons, and the outcome.
import { escaped } from '../../../lib/html.ts';
import { formatAmount } from '../amount.ts';
import { mayDecide, type Payment } from '../payment.ts';
import { pageOf, RETURN_SCRIPT } from './layout.ts';

/** The return to the merchant: a form that the browser posts, as with gateway_one. */
export type Return = { readonly action: string; readonly fields: Readonly<Record<string, string>> };

/** The page as HTML. `back` is present once the customer has decided; `notice` replaces the detail text. */
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
  return pageOf(
    `${payment.state === 'initiated' ? 'Pay' : `${title}:`} ${amount} ${payment.amount.currency}`,
    `<p class="badge">Simulator: no real money moves</p>
<h1><span class="label">Pay to</span> ${escaped(payment.merchant)}</h1>
<p class="amount"><span class="figure">${amount}</span> <span class="currency">${payment.amount.currency}</span></p>
<dl>
${about(payment)}
<div><dt>Transaction</dt><dd class="id">${escaped(payment.merchantTransactionId)}</dd></div>
<div><dt>Provider</dt><dd>${PROVIDER[payment.gateway]}</dd></div>
</dl>
${state}
${back === undefined ? buttons(payment) : returnForm(payment, back)}`,
  );
}

/** Further data from the merchant: the order, the payer for gateway_two, or the transaction. */
function about({ gateway, description, merchantTransactionId }: Payment): string {
  if (description === merchantTransactionId) return '';
  return `<div><dt>${gateway === 'gateway_two' ? 'Payer' : 'Order'}</dt><dd>${escaped(description)}</dd></div>`;
}

const PROVIDER = {
  gateway_one: 'gateway_one, hosted checkout',
  gateway_two: 'gateway_two, wallet',
  stripe: 'Stripe, hosted checkout',
} as const;

const SAID = {
  initiated: { title: 'Open', tone: 'muted', detail: '' },
  authorized: {
    title: 'Authorized',
    tone: 'good',
    detail: 'The merchant can collect the money now. You may close this tab.',
  },
  paid: { title: 'Paid', tone: 'good', detail: 'The money has moved.' },
  failed: { title: 'Failed', tone: 'bad', detail: 'The payment was declined. No money has moved.' },
  cancelled: { title: 'Cancelled', tone: 'muted', detail: 'You cancelled. No money has moved.' },
  reversed: { title: 'Reversed', tone: 'bad', detail: 'The payment was reversed.' },
  expired: { title: 'Expired', tone: 'muted', detail: 'The checkout was open too long. No money has moved.' },
  declined: { title: 'Declined', tone: 'bad', detail: 'The bank did not settle the payment.' },
} as const;

function buttons(payment: Payment): string {
  if (!mayDecide(payment)) return '';
  const [pay, wallet] = payment.gateway === 'gateway_two' ? ['Authorize', true] : ['Pay', false];
  const again = payment.state === 'initiated' ? pay : `${pay} after all`;
  const closing = wallet
    ? '<button class="link" name="press" value="pay_and_close">Authorize and close the tab without returning</button>'
    : payment.gateway === 'stripe'
      ? '<button class="link" name="press" value="pay_later">Pay by bank debit, which the bank settles later</button>'
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
<script>${RETURN_SCRIPT}</script>`;
}
