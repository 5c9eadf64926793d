// The merchant panel's page of a payment: its refunds, and buttons to refund or reverse it.
import { escaped } from '../../../lib/html.ts';
import { formatAmount } from '../amount.ts';
import type { Payment } from '../payment.ts';
import type { Refunds } from '../refunds.ts';
import { pageOf } from './layout.ts';

export function panelPage(payment: Payment, refunds: Refunds): string {
  const { amount, state, merchantTransactionId, proof = '' } = payment;
  const total = `${formatAmount(amount)} ${amount.currency}`;
  const left = refunds.left(payment, proof);
  const entries = refunds.of(payment).map((refund) => {
    const origin = refund.reference === undefined ? 'panel' : 'program';
    const text = `${formatAmount(refund.amount)} ${amount.currency}, ${refunds.stateOf(refund)}`;
    return `<div><dt>Refund (${origin})</dt><dd>${text}</dd></div>`;
  });
  return pageOf(
    `Merchant panel: ${total}`,
    `<p class="badge">Simulator: no real money moves</p>
<h1><span class="label">Payment to</span> ${escaped(payment.merchant)}</h1>
<p class="amount"><span class="figure">${formatAmount(amount)}</span> <span class="currency">${amount.currency}</span></p>
<dl>
<div><dt>State</dt><dd>${state}</dd></div>
<div><dt>Transaction</dt><dd class="id">${escaped(merchantTransactionId)}</dd></div>
${entries.join('\n')}
</dl>
${state === 'paid' && left > 0n ? buttons(formatAmount({ ...amount, minor: left })) : ''}`,
  );
}

function buttons(left: string): string {
  return `<form method="post" aria-label="Merchant panel">
<label>Amount <input name="amount" value="${left}" inputmode="decimal"></label>
<button class="primary" name="press" value="refund">Refund</button>
<button name="press" value="reverse">Reverse the payment</button>
</form>`;
}
