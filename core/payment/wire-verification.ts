// Wires the verification and settlement of sessions.

import { createWaitingCallbacks } from './callbacks/postpone-or-give-up.ts';
import type { PaymentContext } from './module-options.ts';
import { driverOf } from './providers/registry.ts';
import { createFindSession } from './sessions/look-up-sessions.ts';
import { createSessionEvents } from './sessions/read-sessions.ts';
import { createSettle } from './settlement/settle.ts';
import {
  createProviderConcurrency,
  createSlotAccess,
  type ProviderConcurrency,
} from './slots/provider-connections.ts';
import { createVerificationLeases, type VerificationLeases } from './verification/lease.ts';
import { createVerifySession } from './verification/verify.ts';

export type VerificationParts = ReturnType<typeof wireVerification>;

export function wireVerification(context: PaymentContext) {
  const { shared, sealer, address, ending, leaseMs, config, sales, undo } = context;
  const { pool, logger, metrics } = shared;
  const onError = (error: Error) => logger.warn({ reason: error.message }, 'cannot announce status changes');
  const events = undo.adopt(createSessionEvents({ pool, address, onError }), (each) => each.close());
  const access = { ...shared, sealer, driverOf, timeoutMs: config.providerTimeoutMs, signal: ending };
  const providers = undo.adopt(createSlotAccess(access), (each) => each.close());
  const settle = createSettle({ ...shared, ...sales, onChange: events.announce });
  const waiting = createWaitingCallbacks(shared);
  const findSession = createFindSession(pool);
  const leases = createVerificationLeases({ pool, leaseMs });
  const concurrency = createProviderConcurrency(config.providerQuestions, metrics.verificationRejected);
  const parts = { events, providers, settle, waiting, findSession, leases, concurrency };
  observe(context, parts);
  return { ...parts, verifySession: createVerifySession({ ...shared, ...parts }) };
}

function observe(
  { metrics, shared }: PaymentContext,
  { leases, concurrency }: { readonly leases: VerificationLeases; readonly concurrency: ProviderConcurrency },
): void {
  metrics.gauge(
    { name: 'hub_leases_held', help: 'Verification leases held by this process.' },
    () => leases.activeCount,
  );
  metrics.gauge(
    {
      name: 'hub_provider_questions',
      labelNames: ['slot', 'state'],
      help: 'Verifications of a slot, running and waiting.',
    },
    () =>
      Array.from(shared.metrics.slots()).flatMap((slot) => {
        const { running, waiting } = concurrency.load(slot);
        return [
          { labels: { slot, state: 'under_way' }, value: running },
          { labels: { slot, state: 'waiting' }, value: waiting },
        ];
      }),
  );
}
