// Commands of the payment model: customers, true and forged callbacks, faults, operators and kills.
import { setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { type FaultKind, LIES } from '../../../cli/simulator/faults.ts';
import type { Claim } from '../../support/hub/payment.ts';
import { anyHub, callBackTo, type PaymentFixture, paymentOf } from '../load/payment-fixture.ts';
import { FORGERIES, forgedFields, leadsToSession } from './forged-callback.ts';
import { act, type CustomerAction, canAct, type Model, mayPayAgain } from './payment-model.ts';

type Behaviour = {
  readonly check?: (model: Readonly<Model>) => boolean;
  readonly run: (model: Model, fixture: PaymentFixture) => void | Promise<void>;
};

const MAX_GAP_MS = 60;

/** A command with a random gap after it, during which its work continues. */
function command<T extends object>(name: string, steps: fc.Arbitrary<T>, behave: (step: T) => Behaviour) {
  return fc.record({ step: steps, thenMs: fc.nat(MAX_GAP_MS) }).map(({ step, thenMs }) => {
    const { check = () => true, run } = behave(step);
    return {
      check,
      run: async (model: Model, fixture: PaymentFixture): Promise<void> => {
        await run(model, fixture);
        await pause(thenMs);
      },
      toString: () => `${name} ${JSON.stringify(step)}`,
    };
  });
}

/** An index of a session or callback, taken modulo the length of the list. */
const turn = fc.nat(1_000);
const aFew = fc.integer({ min: 1, max: 3 });

/** A fault of the callback on its way, if any. */
const fate = fc.option(fc.constantFrom<FaultKind[]>('late', 'lost', 'duplicated', 'reordered', 'forged'), {
  freq: 3,
});
const DELAY_MS = 700;

/** The customer decides, and the provider sends the callback, possibly with a fault. */
const customer = command(
  'customer',
  fc.record({
    turn,
    action: fc.constantFrom<CustomerAction[]>('pay', 'pay', 'pay', 'fail', 'cancel', 'leave'),
    fate,
  }),
  ({ turn, action, fate }) => ({
    check: ({ sessions }) => canAct(pick(sessions, turn), action),
    run: ({ sessions }, fixture) => {
      act(pick(sessions, turn), action);
      const { providerPaymentId: ref } = pick(fixture.sessions, turn);
      const { simulator } = fixture.cluster;
      if (action === 'leave') return simulator.authorizeAndLeave(ref);
      if (fate !== null) simulator.faults.add({ kind: fate, operation: 'callback', ref, delayMs: DELAY_MS });
      simulator[action](ref);
    },
  }),
);

const stranger = command(
  'stranger',
  fc.record({
    turn,
    other: turn,
    claim: fc.constantFrom<Claim[]>('paid', 'paid', 'failed', 'cancelled'),
    forgery: fc.constantFrom(...FORGERIES),
    times: fc.integer({ min: 1, max: 6 }),
    waits: fc.boolean(),
  }),
  ({ turn, other, claim, forgery, times, waits }) => ({
    run: async ({ sessions }, fixture) => {
      const [session, another] = [pick(fixture.sessions, turn), pick(fixture.sessions, other)];
      const modeled = pick(sessions, turn);
      if (leadsToSession(forgery, session, another)) modeled.claims.add(claim);
      const proofOf = (of: typeof session): string => paymentOf(fixture.cluster, of)?.proof ?? '';
      const fields = forgedFields(forgery, { claim, session, another, proofOf });
      const send = () => callBackTo(fixture, modeled.gateway, fields);
      const sent = Promise.all(Array.from({ length: times }, send));
      fixture.begin(sent);
      if (waits) await sent;
    },
  }),
);

const PROVIDER_FAULTS: readonly FaultKind[] = [
  // The hub cannot recognize a wrong amount of a second payment: it may differ from that of the session.
  ...LIES.filter((lie) => lie !== 'wrong_amount'),
  'timeout_before',
  'timeout_after',
  'error_500',
  'html',
  'redirect',
  'dropped',
  'empty',
  'truncated',
  'expired_token',
  'rate_limited_grant',
];

const fault = command(
  'fault',
  fc.record({ kind: fc.constantFrom(...PROVIDER_FAULTS), times: aFew }),
  (step) => ({ run: (_, { cluster }) => cluster.simulator.faults.add(step) }),
);

/** Only the validation API fails. Forged validation ids must not benefit from the outage. */
const validationOutage = command(
  'validation outage',
  fc.record({
    kind: fc.constantFrom<FaultKind[]>('error_500', 'html', 'redirect', 'dropped', 'empty', 'truncated'),
    times: fc.integer({ min: 1, max: 40 }),
  }),
  ({ kind, times }) => ({
    run: (_, { cluster }) => cluster.simulator.faults.add({ kind, times, operation: 'gateway_one.validate' }),
  }),
);

const outage = command(
  'outage',
  fc.record({ ms: fc.integer({ min: 100, max: 1_500 }), how: fc.constantFrom('refused', 'dropped') }),
  ({ ms, how }) => ({ run: (_, { cluster }) => cluster.simulator.down(ms, how) }),
);

/**
 * The customer pays a session again that the provider has the money for, whether or not the hub knows of it.
 */
const secondPayment = command('second payment', fc.record({ turn, fate }), ({ turn, fate }) => ({
  check: ({ sessions }) => sessions.some(mayPayAgain),
  run: ({ sessions }, fixture) => {
    const modeled = pick(sessions.filter(mayPayAgain), turn);
    const session = pick(fixture.sessions, sessions.indexOf(modeled));
    const { providerPaymentId, merchantTransactionId: ref } = session;
    if (paymentOf(fixture.cluster, session)?.state !== 'paid') return; // gateway_two: not captured yet
    const { simulator } = fixture.cluster;
    // By the merchant's id: at gateway_two it is another payment of the same invoice.
    if (fate !== null) simulator.faults.add({ kind: fate, operation: 'callback', ref, delayMs: DELAY_MS });
    simulator.payAgain(providerPaymentId);
    modeled.secondPayments += 1;
  },
}));

/**
 * The provider reverses a payment. Sessions with a second payment are excluded: a duplicate would settle
 * them.
 */
const reversal = command('reversal', fc.record({ turn }), ({ turn }) => ({
  check: ({ sessions }) => pick(sessions, turn).secondPayments === 0,
  run: ({ sessions }, fixture) => {
    const session = pick(fixture.sessions, turn);
    if (paymentOf(fixture.cluster, session)?.state !== 'paid') return;
    fixture.cluster.simulator.reverse(session.providerPaymentId);
    pick(sessions, turn).provider = 'reversed';
  },
}));

const recheck = command('recheck', fc.record({ turn, times: aFew }), ({ turn, times }) => ({
  run: (_, fixture) => {
    const { sessionId } = pick(fixture.sessions, turn);
    for (let time = 0; time < times; time++) {
      const hub = anyHub(fixture.cluster, time);
      if (hub) fixture.begin(hub.sessions.recheckChargeSession({ sessionId }));
    }
  },
}));

const replay = command('replay', fc.record({ turn, times: aFew }), ({ turn, times }) => ({
  run: (_, fixture) => {
    const replayOne = async (time: number): Promise<void> => {
      const hub = anyHub(fixture.cluster, turn + time);
      const { callbacks = [] } = (await hub?.admin.listCallbacks({ pageSize: 100 })) ?? {};
      const callback = callbacks[turn % callbacks.length];
      if (callback) await hub?.admin.replayCallback({ callbackId: callback.callbackId });
    };
    for (let time = 0; time < times; time++) fixture.begin(replayOne(time));
  },
}));

/** Does nothing while the hub restarts. */
const kill = command('kill', fc.record({ hub: fc.nat(1), afterMs: fc.nat(400) }), ({ hub, afterMs }) => ({
  run: (_, { begin, cluster }) =>
    begin(pause(afterMs).then(() => (cluster.hub(hub) ? cluster.replace(hub) : undefined))),
}));

/** The hub's earlier answers are stale afterwards. */
const freeze = command(
  'freeze past the lease',
  fc.record({ hub: fc.nat(1), ms: fc.integer({ min: 100, max: 900 }) }),
  ({ hub, ms }) => ({ run: (_, { begin, cluster }) => begin(cluster.freeze(hub, ms)) }),
);

const cut = command('cut the database', fc.record({}), () => ({
  run: (_, { cluster }) => cluster.cutDatabase(),
}));

/** At most this many of the commands above. Each repetition in the list makes a command more likely. */
export function paymentCommands(maxCommands: number) {
  const often = [customer, stranger, customer, stranger, customer, stranger, customer, stranger];
  const seldom = [
    fault,
    fault,
    validationOutage,
    validationOutage,
    outage,
    secondPayment,
    secondPayment,
    secondPayment,
    reversal,
    recheck,
    replay,
    replay,
    cut,
    kill,
    freeze,
    freeze,
  ];
  // With a bias, the first runs would be short and use mainly the first session.
  return fc.noBias(
    fc.commands<Model, PaymentFixture, false>([...often, ...seldom], { maxCommands, size: 'max' }),
  );
}

function pick<T>(list: readonly T[], turn: number): T {
  const picked = list[turn % list.length];
  if (picked === undefined) throw new Error('the list is empty');
  return picked;
}
