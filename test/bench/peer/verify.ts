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

/** One call to the provider, as the table `verification` stores it. */
export type ProviderCall = { readonly outcome: string; readonly askedAt: Date; readonly durationMs: number };

const PATH = '/gateway_one/validator/api/validationserverAPI.php';

/**
 * Returns a function that asks the provider. It resolves with a proof only if the provider confirms the full payment of
 * the session.
 */
export function createVerify(providerUrl: string) {
  const provider = new Pool(providerUrl, { connections: 64 });
  return async (
    session: Session,
    valId: string,
  ): Promise<{ readonly proof: Proof | undefined; readonly call: ProviderCall }> => {
    const askedAt = new Date();
    const begun = performance.now();
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
    const durationMs = Math.round(performance.now() - begun);
    return { proof, call: { outcome: answer['status'] ?? '', askedAt, durationMs } };
  };
}
