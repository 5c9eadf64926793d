// Asks the provider whether a payment is valid, and compares the answer with the session.
import { Pool } from 'undici';

export type Session = {
  readonly id: string;
  readonly transaction_id: string;
  readonly status: string;
  /** The driver returns a bigint as digits. */
  readonly amount_minor: string;
  readonly currency: string;
  /** Slug of the offer that it sells, and the name of the buyer; null if it sells none. */
  readonly offer: string | null;
  readonly customer: string | null;
};

export type Proof = { readonly gatewayTransactionId: string; readonly bankTransactionId: string };

/** The call of the provider, for the record. */
export type ProviderCall = { readonly outcome: string; readonly askedAt: Date; readonly durationMs: number };

const PATH = '/gateway_one/validator/api/validationserverAPI.php';

/** Resolves without proof unless the provider confirms the full payment of this session. */
export function createVerify(providerUrl: string) {
  const provider = new Pool(providerUrl, { connections: 64 });
  return async (
    session: Session,
    valId: string,
  ): Promise<{ readonly proof: Proof | undefined; readonly call: ProviderCall }> => {
    const askedAt = new Date();
    const askedAtMs = performance.now();
    const query = new URLSearchParams({
      val_id: valId,
      store_id: 'store',
      store_passwd: 'secret',
      format: 'json',
    });
    const { statusCode, body } = await provider.request({ method: 'GET', path: `${PATH}?${query}` });
    const answer = (await body.json()) as Record<string, string>; // each member is compared below
    const amountMinor = String(Math.round(Number(answer['currency_amount']) * 100));
    const isPaid =
      statusCode === 200 &&
      (answer['status'] === 'VALID' || answer['status'] === 'VALIDATED') &&
      answer['tran_id'] === session.transaction_id &&
      answer['currency_type'] === session.currency &&
      amountMinor === session.amount_minor;
    const proof = isPaid
      ? { gatewayTransactionId: answer['val_id'] ?? '', bankTransactionId: answer['bank_tran_id'] ?? '' }
      : undefined;
    const durationMs = Math.round(performance.now() - askedAtMs);
    return { proof, call: { outcome: answer['status'] ?? '', askedAt, durationMs } };
  };
}
