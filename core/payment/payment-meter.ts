// Counts what becomes of callbacks and sessions, and how providers answer.
import type { Metrics } from '../../metrics/metrics.ts';
import { CALLBACK_STATES, CHARGE_STATUSES, type ChargeStatusName } from './entities.ts';
import type { Outcome } from './journal.ts';
import { ProviderRefused, ProviderUnavailable, type Verdict } from './provider.ts';
import type { SessionFacts } from './session-facts.ts';

export type PaymentMeter = {
  /** A callback was committed to the journal. */
  received(gateway: string): void;
  /** A callback was only counted: its session keeps as many as it may. */
  counted(gateway: string): void;
  /** This came of so many callbacks. */
  finished(gateway: string, state: Outcome['state'], count: number): void;
  sessionCreated(slot: string): void;
  statusChanged(session: Pick<SessionFacts, 'slot'>, status: ChargeStatusName): void;
  /** Runs the question, and notes how long it took and what the provider said. */
  verification<T extends Pick<Verdict, 'kind'>>(slot: string, ask: () => Promise<T>): Promise<T>;
  /** A question that was not asked, because too many others wait. */
  notAsked(slot: string): void;
  checkout<T>(slot: string, make: () => Promise<T>): Promise<T>;
  /** A callback caused no question: somebody else was asking, or the session's budget was spent. */
  putOff(reason: 'busy' | 'spent'): void;
  /** An answer came after the lease was lost that it was asked under: nothing was settled by it. */
  fenced(slot: string): void;
  /** A provider was asked for further payments of a paid session. */
  duplicateCheck(result: 'found' | 'none' | 'unavailable' | 'given_up'): void;
  /** What the sweep's questions came to. */
  swept(result: string): void;
  /** Its counters are there from now on. */
  addSlot(slot: string): void;
  slots(): Iterable<string>;
};

const OUTCOMES = CALLBACK_STATES.filter((state) => state !== 'received');
const RESULTS = ['paid', 'not_paid', 'pending', 'reversed', 'mismatch', 'unavailable', 'not_asked', 'error'];
const CHECKOUTS = ['made', 'refused', 'unavailable', 'error'];
/** Providers are slow, and given half a minute. */
const BOUNDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60];

export function createPaymentMeter(metrics: Metrics, gateways: Iterable<string>): PaymentMeter {
  const received = metrics.counter({
    name: 'hub_callbacks_received_total',
    help: 'Callbacks committed to the journal.',
    labels: ['gateway'],
  });
  const counted = metrics.counter({
    name: 'hub_callbacks_counted_total',
    help: 'Callbacks that were only counted, because their session keeps HUB_SESSION_CALLBACKS already.',
    labels: ['gateway'],
  });
  const finished = metrics.counter({
    name: 'hub_callbacks_total',
    help: 'Callbacks by what came of them: the state in which the journal has them. One that is replayed counts again.',
    labels: ['gateway', 'outcome'],
  });
  const created = metrics.counter({
    name: 'hub_sessions_created_total',
    help: 'Charge sessions created.',
    labels: ['slot'],
  });
  const changed = metrics.counter({
    name: 'hub_session_status_changes_total',
    help: 'Charge sessions by the status that they changed to.',
    labels: ['slot', 'status'],
  });
  const verifications = metrics.counter({
    name: 'hub_verifications_total',
    help: 'Questions to providers whether a session is paid, by what they said; not_asked: too many others waited; error: the hub could not ask.',
    labels: ['slot', 'result'],
  });
  const verified = metrics.histogram({
    name: 'hub_verification_duration_seconds',
    help: 'How long providers took to answer these questions, with all calls that one takes.',
    labels: ['slot'],
    bounds: BOUNDS,
  });
  const checkouts = metrics.counter({
    name: 'hub_checkouts_total',
    help: 'Checkouts that providers were asked to make, by what came of it.',
    labels: ['slot', 'result'],
  });
  const checkedOut = metrics.histogram({
    name: 'hub_checkout_duration_seconds',
    help: 'How long providers took to make a checkout.',
    labels: ['slot'],
    bounds: BOUNDS,
  });
  const putOff = metrics.counter({
    name: 'hub_questions_put_off_total',
    help: 'Callbacks that caused no question: somebody was asking about their session (busy), or its budget was spent, as under a flood (spent).',
    labels: ['reason'],
  });
  const swept = metrics.counter({
    name: 'hub_sweep_questions_total',
    help: 'Sessions that the sweep asked about, by what came of it.',
    labels: ['result'],
  });

  const fenced = metrics.counter({
    name: 'hub_settlements_fenced_total',
    help: 'Answers of providers that settled nothing, because the hub that asked had lost its verification lease meanwhile.',
    labels: ['slot'],
  });
  const duplicateChecks = metrics.counter({
    name: 'hub_duplicate_checks_total',
    help: 'Times providers were asked for further payments of a paid session, by what came of it; given_up: no answer for a day.',
    labels: ['result'],
  });

  // From nothing to one is no increase to Prometheus: what there may be begins at 0.
  for (const gateway of gateways) {
    received.of(gateway);
    counted.of(gateway);
    for (const outcome of OUTCOMES) finished.of(gateway, outcome);
  }
  for (const result of ['found', 'none', 'unavailable', 'given_up']) duplicateChecks.of(result);
  putOff.of('busy');
  putOff.of('spent');
  const slots = new Set<string>();
  const addSlot = (slot: string): void => {
    if (slots.has(slot)) return;
    slots.add(slot);
    created.of(slot);
    fenced.of(slot);
    for (const status of CHARGE_STATUSES) changed.of(slot, status);
    for (const result of RESULTS) verifications.of(slot, result);
    for (const result of CHECKOUTS) checkouts.of(slot, result);
  };

  return {
    received: (gateway) => received.of(gateway).add(),
    counted: (gateway) => counted.of(gateway).add(),
    finished: (gateway, state, count) => finished.of(gateway, state).add(count),
    sessionCreated: (slot) => created.of(slot).add(),
    statusChanged: ({ slot }, status) => changed.of(slot, status).add(),
    async verification(slot, ask) {
      const start = performance.now();
      let result = 'error';
      try {
        const answer = await ask();
        result = answer.kind;
        return answer;
      } catch (error) {
        if (error instanceof ProviderUnavailable) result = 'unavailable';
        throw error;
      } finally {
        verifications.of(slot, result).add();
        verified.of(slot).note((performance.now() - start) / 1_000);
      }
    },
    notAsked: (slot) => verifications.of(slot, 'not_asked').add(),
    async checkout(slot, make) {
      const start = performance.now();
      let result = 'error';
      try {
        const checkout = await make();
        result = 'made';
        return checkout;
      } catch (error) {
        if (error instanceof ProviderRefused) result = 'refused';
        if (error instanceof ProviderUnavailable) result = 'unavailable';
        throw error;
      } finally {
        checkouts.of(slot, result).add();
        checkedOut.of(slot).note((performance.now() - start) / 1_000);
      }
    },
    putOff: (reason) => putOff.of(reason).add(),
    fenced: (slot) => fenced.of(slot).add(),
    duplicateCheck: (result) => duplicateChecks.of(result).add(),
    swept: (result) => swept.of(result).add(),
    addSlot,
    slots: () => slots,
  };
}
