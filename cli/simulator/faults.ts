// Which faults happen when: the ones asked for, and a random plan that a seed repeats.
import { type Payment, SimulatorError } from './ledger.ts';

/** Instead of an answer, or in place of the right one. */
export const ANSWER_FAULTS = [
  'timeout_before', // nothing is done, and no answer comes
  'timeout_after', // it is done, and no answer comes
  'error_500', // nothing is done
  'html', // nothing is done: a page of some proxy, with status 200
  'redirect', // nothing is done
  'dropped', // nothing is done: the connection ends
  'empty', // it is done, the body is empty
  'truncated', // it is done, the body ends half-way
  'huge', // it is done, the body is 100 MB
] as const;

/** The answer is well formed and says something untrue. */
export const LIES = ['wrong_amount', 'wrong_currency', 'wrong_transaction'] as const;

/** The answer rates the payment risky. */
const RATINGS = ['risky'] as const;

/** Of callbacks on their way. */
export const CALLBACK_FAULTS = ['late', 'lost', 'duplicated', 'reordered', 'forged'] as const;

export const FAULT_KINDS = [
  ...ANSWER_FAULTS,
  ...LIES,
  ...RATINGS,
  'expired_token',
  'rate_limited_grant',
  ...CALLBACK_FAULTS,
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** What a fault can happen to, and the faults that can happen to it. */
export const POSSIBLE = {
  'gateway_one.initiate': ANSWER_FAULTS,
  'gateway_one.validate': [...ANSWER_FAULTS, ...LIES, ...RATINGS],
  'gateway_one.query': [...ANSWER_FAULTS, ...LIES, ...RATINGS],
  'gateway_two.grant': [...ANSWER_FAULTS, 'rate_limited_grant'],
  'gateway_two.create': [...ANSWER_FAULTS, 'expired_token'],
  'gateway_two.execute': [...ANSWER_FAULTS, ...LIES, 'expired_token'],
  'gateway_two.query': [...ANSWER_FAULTS, ...LIES, 'expired_token'],
  callback: CALLBACK_FAULTS,
} as const satisfies Record<string, readonly FaultKind[]>;

export type OperationName = keyof typeof POSSIBLE;

export const OPERATIONS = Object.keys(POSSIBLE) as readonly OperationName[]; // the keys of a constant

/** A fault to happen to the next operation it fits. */
export type Fault = {
  readonly kind: FaultKind;
  /** Any that can have it, if not given. */
  readonly operation?: OperationName;
  /** Only this payment's, by the provider's id or the merchant's. */
  readonly ref?: string;
  /** How often; once if not given. */
  readonly times?: number;
  /** How late a `late` callback is; 2 000 if not given. */
  readonly delayMs?: number;
};

/** Of all operations the share `rate` (0 to 1) has one of the faults `kinds` (all, if not given). */
export type RandomPlan = {
  readonly seed: number;
  readonly rate: number;
  readonly kinds?: readonly FaultKind[];
};

export type FaultEvent = {
  readonly kind: FaultKind;
  readonly operation: OperationName;
  readonly ref: string | undefined;
};

export type Faults = ReturnType<typeof createFaults>;

const MOST_EVENTS = 10_000;

/** `onFault` is told of each fault as it happens. */
export function createFaults(plan: RandomPlan = { seed: 1, rate: 0 }, onFault?: (event: FaultEvent) => void) {
  let requested: { readonly fault: Fault; left: number }[] = [];
  let random = drawing(plan);
  const events: FaultEvent[] = [];

  const takeRequested = (operation: OperationName, payment: Payment | undefined): Fault | undefined => {
    const found = requested.find(({ fault }) => fits(fault, operation, payment));
    if (found === undefined) return undefined;
    found.left -= 1;
    if (found.left <= 0) requested = requested.filter((each) => each !== found);
    return found.fault;
  };

  return {
    /** @throws SimulatorError if such a fault cannot happen to that operation */
    add(fault: Fault): void {
      const { kind, operation, times = 1 } = fault;
      if (operation !== undefined && !includes(POSSIBLE[operation], kind)) {
        throw new SimulatorError(
          `${kind} cannot happen to ${operation}: ${POSSIBLE[operation].join(', ')} can`,
        );
      }
      if (times > 0) requested.push({ fault, left: times });
    },
    /** Replaces the random plan. */
    plan(next: RandomPlan): void {
      random = drawing(next);
    },
    /** Forgets all faults that were asked for, and the random plan. */
    clear(): void {
      requested = [];
      random = drawing({ seed: 1, rate: 0 });
    },
    /** What happened so far, the latest last. */
    events: (): readonly FaultEvent[] => [...events],

    /** The fault that happens to this operation now, if any. */
    take(operation: OperationName, payment: Payment | undefined): Fault | undefined {
      const fault = takeRequested(operation, payment) ?? random(operation);
      if (fault !== undefined) {
        const event = { kind: fault.kind, operation, ref: payment?.ref };
        events.push(event);
        onFault?.(event);
        if (events.length > MOST_EVENTS) events.shift();
      }
      return fault;
    },
  };
}

function fits({ kind, operation, ref }: Fault, name: OperationName, payment: Payment | undefined): boolean {
  if (operation === undefined ? !includes(POSSIBLE[name], kind) : operation !== name) return false;
  return ref === undefined || ref === payment?.ref || ref === payment?.merchantTransactionId;
}

function drawing({ seed, rate, kinds = FAULT_KINDS }: RandomPlan) {
  const next = mulberry32(seed);
  return (operation: OperationName): Fault | undefined => {
    const happens = next() < rate;
    const pick = next(); // always two numbers an operation, so that another rate keeps what follows
    const possible = kinds.filter((kind) => includes(POSSIBLE[operation], kind));
    const kind = happens ? possible[Math.floor(pick * possible.length)] : undefined;
    return kind && { kind };
  };
}

/** Numbers from 0 to 1 (exclusive) that a seed repeats: Tommy Ettinger's mulberry32. */
function mulberry32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function includes(kinds: readonly FaultKind[], kind: FaultKind): boolean {
  return kinds.includes(kind);
}
