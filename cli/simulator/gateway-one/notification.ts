// Builds and signs gateway_one's notification form.
import { createHash, randomBytes } from 'node:crypto';
import { formatAmount, inTaka, lessProviderFee } from '../amount.ts';
import type { Attempt, Outcome, Payment } from '../payment.ts';

export type Store = { readonly storeId: string; readonly storePassword: string };

const STATUS = { paid: 'VALID', failed: 'FAILED', cancelled: 'CANCELLED' } as const;

export function notificationFields(payment: Payment, attempt: Attempt, store: Store): Record<string, string> {
  return signed(
    { ...commonFields(payment, store), ...outcomeFields(payment, attempt), bank_tran_id: attempt.bankId },
    store.storePassword,
  );
}

/** A forged form without knowledge of the password: invented validation id, wrong signature. */
export function forgedFields(payment: Payment, claim: Outcome, { storeId }: Store): Record<string, string> {
  const password = randomBytes(8).toString('hex');
  const proof = randomBytes(10).toString('hex').toUpperCase();
  const attempt = { outcome: claim, proof, bankId: proof, at: payment.createdAt, validated: false };
  return notificationFields(payment, attempt, { storeId, storePassword: password });
}

export function providerTime(time: Date): string {
  return time.toISOString().slice(0, 19).replace('T', ' ');
}

function commonFields(payment: Payment, { storeId }: Store): Record<string, string> {
  const { amount, rate } = inTaka(payment.amount);
  return {
    tran_id: payment.merchantTransactionId,
    amount: formatAmount(amount),
    currency: amount.currency,
    currency_type: payment.amount.currency,
    currency_amount: formatAmount(payment.amount),
    currency_rate: rate,
    base_fair: '0.00',
    store_id: storeId,
    value_a: '',
    value_b: '',
    value_c: '',
    value_d: '',
    ...payment.echo,
  };
}

function outcomeFields(payment: Payment, { outcome, proof, at }: Attempt): Record<string, string> {
  const card = { card_brand: 'VISA', card_issuer: 'SIMULATED BANK', card_issuer_country: 'Bangladesh' };
  const fields = { status: STATUS[outcome], tran_date: providerTime(at), ...card };
  if (outcome !== 'paid' || proof === undefined) {
    return {
      ...fields,
      error: outcome === 'failed' ? 'The card was declined.' : 'Cancelled by the customer.',
    };
  }
  return {
    ...fields,
    val_id: proof,
    store_amount: formatAmount(lessProviderFee(inTaka(payment.amount).amount)),
    card_type: 'VISA-Simulated',
    card_no: '418117XXXXXX6675',
    card_issuer_country_code: 'BD',
    risk_level: '0',
    risk_title: 'Safe',
  };
}

/** verify_key lists the signed fields. The signature covers them and the hashed password, sorted by name. */
function signed(fields: Record<string, string>, password: string): Record<string, string> {
  const sign = (hash: 'md5' | 'sha256') => {
    const hashed = (text: string) => createHash(hash).update(text).digest('hex');
    const entries = Object.entries({ ...fields, store_passwd: hashed(password) }).sort(([one], [other]) =>
      one < other ? -1 : 1,
    );
    return hashed(entries.map(([name, value]) => `${name}=${value}`).join('&'));
  };
  return {
    ...fields,
    verify_key: Object.keys(fields).join(','),
    verify_sign: sign('md5'),
    verify_sign_sha2: sign('sha256'),
  };
}
