// Creates charge sessions, once for each idempotency key of a slot.
import type { Actor } from '../access/caller.ts';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import { callbackBase, callbackUrl, type GatewayAddress } from './callback-url.ts';
import { checkAmount } from './charge-amount.ts';
import { type CheckoutOptions, createCheckout, wantsCheckout } from './create-checkout.ts';
import { type CreateSessionRequest, insertSession } from './insert-session.ts';
import { readSessionSlot } from './session-slot.ts';
import { nextCheck } from './sweep.ts';
import type { VerificationLease } from './verification-lease.ts';

export type CreateSessionOptions = CheckoutOptions & {
  readonly lease: VerificationLease;
  /** Milliseconds that a call waits for another one with the same idempotency key. */
  readonly busyWaitMs: number;
  readonly gatewayAddress: GatewayAddress;
};

/** After a lease that was lost, somebody else may have made the checkout. */
const MOST_ATTEMPTS = 3;

/**
 * Resolves with the session's id. Rejects with HubError `slot_unknown`, `slot_disabled`, `amount_invalid`,
 * `public_url_unset`, `idempotency_key_reused`, `provider_refused` or `provider_unavailable`; those that leave a
 * session behind name it.
 */
export function createCreateSession(options: CreateSessionOptions) {
  const { pool, clock, lease, schedule, busyWaitMs, gatewayAddress, meter } = options;
  return async (request: CreateSessionRequest, actor: Actor): Promise<string> => {
    checkAmount(request.amount);
    const slot = await readSessionSlot(pool, request.slot);
    const base = callbackBase(gatewayAddress, slot);
    const now = clock();
    const firstCheck = nextCheck(schedule, now, now);
    const id = await insertSession(request, { pool, slot, actor, now, firstCheck, meter });

    const inVain = async () => !(await wantsCheckout(pool, id)) || undefined;
    if (await inVain()) return id;
    // Repeats with the same idempotency key may come at the same time; one of them creates the checkout.
    const work = createCheckout(options, id, {
      ...request,
      callbackUrl: callbackUrl(base, slot.gateway, id),
    });
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      const made = await lease.run(id, { work, waitMs: busyWaitMs, inVain });
      if (made) return id;
      if (made === undefined) break;
    }
    const message = 'the checkout is being created by another call; repeat this one';
    throw new HubError('provider_unavailable', message, { sessionId: formatId('chs', id) });
  };
}
