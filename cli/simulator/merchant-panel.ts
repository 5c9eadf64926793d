// The providers' merchant panel, where somebody refunds or reverses a payment without the merchant's program.
import { formatAmount, parseAmount } from './amount.ts';
import { type Page, page } from './customer.ts';
import type { Ledger } from './ledger.ts';
import { messagePage } from './pages/layout.ts';
import { panelPage } from './pages/panel-page.ts';
import { type Payment, SimulatorError } from './payment.ts';
import type { Call } from './provider.ts';
import type { Refund } from './refunds.ts';

/** Refunds an amount such as `10.50`, or the rest of the payment. @throws SimulatorError */
export function refundInPanel({ refunds }: Ledger, payment: Payment, text?: string): Refund {
  const { currency } = payment.amount;
  const amount = text === undefined ? undefined : parseAmount(text, currency);
  if (text !== undefined && amount === undefined) {
    throw new SimulatorError(
      `the amount must be a decimal in ${currency}, such as ${formatAmount(payment.amount)}`,
    );
  }
  const { proof = '' } = payment;
  return refunds.make(payment, { proof, amount, reference: undefined, reason: 'made in the merchant panel' });
}

/** Serves a browser: GET shows the payment, POST refunds or reverses it. */
export function browsePanel(ledger: Ledger, { method, body }: Call, payment: Payment | undefined): Page {
  if (payment?.proof === undefined) {
    return page(
      404,
      messagePage('Unknown payment', 'The panel shows paid payments until the simulator ends.'),
    );
  }
  if (method === 'GET') return page(200, panelPage(payment, ledger.refunds));
  const form = new URLSearchParams(body);
  try {
    if (form.get('press') === 'reverse') ledger.reverse(payment);
    else refundInPanel(ledger, payment, form.get('amount') || undefined);
  } catch (error) {
    if (error instanceof SimulatorError) return page(409, messagePage('Nothing has changed', error.message));
    throw error;
  }
  return page(200, panelPage(payment, ledger.refunds));
}
