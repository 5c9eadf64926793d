// The simulator's first page: open payments with links to their checkout pages, and paid ones with links to the
// merchant panel.
import { escaped } from '../../../lib/html.ts';
import { formatAmount } from '../amount.ts';
import { mayDecide, type Payment } from '../payment.ts';
import { pageOf } from './layout.ts';

const MAX_SHOWN_PAYMENTS = 50;

export function indexPage(payments: readonly Payment[]): string {
  const open = payments.filter(mayDecide).toReversed();
  const paid = payments.filter(({ state }) => state === 'paid' || state === 'reversed').toReversed();
  return pageOf(
    'Payment providers, simulated',
    `<p class="badge">Simulator: no real money moves</p>
<h1>${open.length === 0 ? 'No payment is open' : `Open payments: ${open.length}`}</h1>
<p>${open.length === 0 ? 'Create one with hubctl session create, and look again.' : 'The latest first.'}</p>
${list(open, 'checkout')}
${paid.length === 0 ? '' : `<h1>Paid: ${paid.length}</h1>\n<p>Refund or reverse a payment in the merchant panel.</p>\n${list(paid, 'panel')}`}`,
  );
}

function list(payments: readonly Payment[], page: 'checkout' | 'panel'): string {
  const rest = payments.length - MAX_SHOWN_PAYMENTS;
  const entries = payments.slice(0, MAX_SHOWN_PAYMENTS).map((payment) => entry(payment, page));
  return `<ul class="open">
${entries.join('\n')}
</ul>
${rest > 0 ? `<p>And ${rest} more.</p>` : ''}`;
}

function entry({ gateway, ref, amount, description, state }: Payment, page: 'checkout' | 'panel'): string {
  const stands = state === 'initiated' || state === 'paid' ? '' : ` (${state})`;
  const text = `${formatAmount(amount)} ${amount.currency}${stands}`;
  return `<li><a href="/${gateway}/${page}/${ref}"><span>${text}</span><span>${escaped(description)}</span></a></li>`;
}
