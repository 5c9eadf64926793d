// The simulator's first page: open payments with links to their checkout pages.
import { formatAmount } from '../amount.ts';
import { mayDecide, type Payment } from '../ledger.ts';
import { escaped, pageOf } from './layout.ts';

const MAX_SHOWN_PAYMENTS = 50;

export function indexPage(payments: readonly Payment[]): string {
  const open = payments.filter(mayDecide).toReversed();
  const rest = open.length - MAX_SHOWN_PAYMENTS;
  return pageOf(
    'Payment providers, simulated',
    `<p class="badge">Simulator: no real money moves</p>
<h1>${open.length === 0 ? 'No payment is open' : `Open payments: ${open.length}`}</h1>
<p>${open.length === 0 ? 'Create one with hubctl session create, and look again.' : 'The latest first.'}</p>
<ul class="open">
${open.slice(0, MAX_SHOWN_PAYMENTS).map(entry).join('\n')}
</ul>
${rest > 0 ? `<p>And ${rest} more.</p>` : ''}`,
  );
}

function entry({ gateway, ref, amount, description, state }: Payment): string {
  const stands = state === 'initiated' ? '' : ` (${state})`;
  const text = `${formatAmount(amount)} ${amount.currency}${stands}`;
  return `<li><a href="/${gateway}/checkout/${ref}"><span>${text}</span><span>${escaped(description)}</span></a></li>`;
}
