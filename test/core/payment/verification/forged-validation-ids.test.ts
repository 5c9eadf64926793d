// A paid session settles at the next sweep, whatever forged callbacks and the validation API return.
import { expect } from 'chai';
import fc from 'fast-check';
import type { ChargeSession } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import {
  callBack,
  callbackFields,
  inspect,
  type Payments,
  payQuietly,
  startPayments,
  untilStatus,
} from '../../../support/hub/payment.ts';
import {
  addValidatedSlot,
  FORBIDDEN,
  startValidationApi,
  type ValidationAnswer,
  type ValidationApi,
} from '../../../support/hub/validation-api.ts';

const HOUR_MS = 3_600_000;
const RUNS = 15;

/** A callback of a stranger who knows the ids of the session. */
type Forged = {
  readonly status: string;
  readonly validationId: 'invented' | 'another' | 'true' | 'none';
  readonly sessionId: 'right' | 'none' | 'empty' | 'unknown';
  readonly beforePayment: boolean;
  readonly turn: number;
};

const forged: fc.Arbitrary<Forged> = fc.record({
  status: fc.constantFrom('VALID', 'VALIDATED', 'VALID', 'FAILED', 'CANCELLED', 'UNATTEMPTED'),
  validationId: fc.constantFrom('invented', 'invented', 'another', 'true', 'none'),
  sessionId: fc.constantFrom('right', 'right', 'none', 'empty', 'unknown'),
  beforePayment: fc.boolean(),
  turn: fc.nat(3),
});

const SESSION_IDS = {
  none: {},
  empty: { session_id: '' },
  unknown: { session_id: 'chs_01k00000000000000000000000' },
};

/** About the session's transaction, another one, or nothing at all; `undefined`: the truth. */
type Answering = (session: ChargeSession) => ValidationAnswer | undefined;

const transaction =
  (changes: Record<string, unknown>): Answering =>
  ({ merchantTransactionId }) => ({
    status: 200,
    body: JSON.stringify({
      APIConnect: 'DONE',
      tran_id: merchantTransactionId,
      val_id: 'FORGED',
      amount: '100.00',
      currency: 'BDT',
      currency_amount: '100.00',
      currency_type: 'BDT',
      ...changes,
    }),
  });
const fixed =
  (answer: ValidationAnswer): Answering =>
  () =>
    answer;

const answering: fc.Arbitrary<Answering> = fc.oneof(
  fc.constant<Answering>(() => undefined),
  fc.constant(fixed(FORBIDDEN)),
  fc.constant(fixed('hangs')),
  fc.record({ status: fc.constantFrom(200, 301, 400, 404, 429, 500, 503), body: fc.string() }).map(fixed),
  fc.record({ status: fc.constant(200), body: fc.json({ maxDepth: 2 }) }).map(fixed),
  fc
    .record({
      status: fc.constantFrom('INVALID_TRANSACTION', 'FAILED', 'CANCELLED', 'PENDING', 'REFUNDED', 'VALIDE'),
    })
    .map(transaction),
  // Every valid payment belongs to another session or has another amount.
  fc
    .record({ status: fc.constantFrom('VALID', 'VALIDATED'), tran_id: fc.string({ minLength: 1 }) })
    .map(transaction),
  fc
    .record({
      status: fc.constantFrom('VALID', 'VALIDATED'),
      // An empty one proves nothing, and `amount` would make the proof valid.
      currency_amount: fc.constantFrom('1.00', '0.00', 'NaN', '1e2'),
    })
    .map(transaction),
);

describe('forged callbacks of a paid session, with any answer of the validation API', () => {
  let payments: Payments;
  let provider: ValidationApi;
  let create: () => Promise<ChargeSession>;
  /** How far the hub's clock is ahead. */
  let aheadMs = 0;
  before(async () => {
    payments = await startPayments({
      settings: { sweepAfterMs: [HOUR_MS], providerTimeoutMs: 2_000, callbackBudgetMs: 300 },
      clock: () => new Date(Date.now() + aheadMs),
    });
    provider = await startValidationApi(payments.simulator.urls.gateway_one);
    create = await addValidatedSlot(payments, provider);
  });
  after(async () => {
    await provider?.close();
    await payments?.stop();
  });

  it('do not prevent its settlement at the next sweep', async () => {
    const another = await create();
    const anothers = payQuietly(payments, another);
    const property = fc.asyncProperty(
      fc.array(forged, { minLength: 1, maxLength: 6 }),
      fc.array(answering, { minLength: 1, maxLength: 4 }),
      async (callbacks, answers) => {
        const session = await create();
        let asked = 0;
        provider.answer = () => answers[asked++ % answers.length]?.(session);
        const send = async (chosen: readonly Forged[], truth: string): Promise<void> => {
          const ids = { another: anothers, true: truth, none: '' };
          await Promise.all(
            chosen.map(({ status, validationId, sessionId, turn }) => {
              const valId = validationId === 'invented' ? `FORGED ${turn}` : ids[validationId];
              const { session_id, ...fields } = callbackFields(session, 'paid', valId);
              const named = sessionId === 'right' ? { session_id: session_id ?? '' } : SESSION_IDS[sessionId];
              return callBack(payments.hub.gatewayUrl, 'gateway_one', { ...fields, ...named, status });
            }),
          );
        };
        await send(
          callbacks.filter(({ beforePayment }) => beforePayment),
          '',
        );
        const truth = payQuietly(payments, session);
        await send(
          callbacks.filter(({ beforePayment }) => !beforePayment),
          truth,
        );
        aheadMs += HOUR_MS;
        await untilStatus(payments, session, 'success', 20_000);
        expect((await inspect(payments, session)).usageLog?.gatewayTransactionId).to.equal(truth);
      },
    );
    await fc.assert(property, { numRuns: RUNS, endOnFailure: true, includeErrorInReport: true });
  });
});
