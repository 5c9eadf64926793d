// Creates charge sessions, once for each idempotency key of a slot.
import type { Actor } from '../../access/caller.ts';
import { HubError } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import type { Sales } from '../order-interface.ts';
import { driverOf } from '../providers/registry.ts';
import type { VerificationLeases } from '../verification/lease.ts';
import { nextCheck } from '../verification/sweep-schedule.ts';
import { browserUrl, callbackBase, callbackUrl, type GatewayAddress } from './callback-url.ts';
import { checkAmount } from './charge-amount.ts';
import { checkReturnUrl } from './check-return-url.ts';
import { type CheckoutOptions, createCheckout, needsCheckout } from './create-checkout.ts';
import { readSessionSlot } from './find-slot.ts';
import { type CreateSessionRequest, findOrInsertSession } from './insert-session.ts';

export type CreateSessionOptions = CheckoutOptions & {
  readonly leases: VerificationLeases;
  /** Milliseconds that a call waits for another one with the same idempotency key. */
  readonly busyWaitMs: number;
  readonly gatewayAddress: GatewayAddress;
  readonly sales: Pick<Sales, 'quote'>;
};

/** After a lost lease another call may have created the checkout. */
const MAX_ATTEMPTS = 3;

/**
 * Resolves with the session's id. Rejects with HubError `slot_unknown`, `slot_disabled`, `amount_invalid`,
 * `public_url_unset`, `return_url_refused`, `idempotency_key_reused`, `provider_refused`,
 * `provider_unavailable`, or an error of `Sales.quote`. If the session exists then, the error has its id.
 */
export function createCreateSession(options: CreateSessionOptions) {
  const { pool, clock, leases, schedule, busyWaitMs, gatewayAddress, sales, metrics } = options;
  return async (request: CreateSessionRequest, actor: Actor): Promise<string> => {
    if (request.amount !== undefined) checkAmount(request.amount);
    const slot = await readSessionSlot(pool, request.slot);
    const base = callbackBase(gatewayAddress, slot);
    const returnUrl = checkReturnUrl(request.returnUrl, slot);
    const now = clock();
    const firstCheck = nextCheck(schedule, now, now);
    const id = await findOrInsertSession(request, {
      pool,
      slot,
      sales,
      returnUrl,
      actor,
      now,
      firstCheck,
      metrics,
    });

    const alreadyDone = async () => !(await needsCheckout(pool, id)) || undefined;
    if (await alreadyDone()) return id;
    // Signed callbacks come from the provider itself, so the browser needs an address of its own.
    const isSigned = driverOf(slot.gateway).callback.signed !== undefined;
    const comesBack = returnUrl !== null || request.purchase !== undefined || isSigned;
    // Of concurrent calls with the same idempotency key, one creates the checkout.
    const work = createCheckout(options, id, {
      orderReference: request.orderReference,
      customer: request.customer,
      callbackUrl: callbackUrl(base, slot.gateway, id),
      browserUrl: comesBack ? browserUrl(base, id) : undefined,
    });
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const made = await leases.run(id, { work, waitMs: busyWaitMs, alreadyDone });
      if (made) return id;
      if (made === undefined) break;
    }
    const message = 'the checkout is being created by another call; repeat this one';
    throw new HubError('provider_unavailable', message, { sessionId: formatId('chs', id) });
  };
}
