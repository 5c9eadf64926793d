// Decides which faults happen: requested ones, and random ones that a seed repeats.
import { type Payment, SimulatorError } from './payment.ts';

/** Faults that replace or suppress the response. */
export const ANSWER_FAULTS = [
  'timeout_before', // request not processed, no response
  'timeout_after', // request processed, no response
  'error_500', // request not processed
  'html', // request not processed: a proxy's HTML page with status 200
  'redirect', // request not processed
  'dropped', // request not processed: the connection closes
  'empty', // request processed, empty body
  'truncated', // request processed, truncated body
  'huge', // request processed, 100 MB body
] as const;

/** The response is well formed and contains a false value. */
export const LIES = ['wrong_amount', 'wrong_currency', 'wrong_transaction'] as const;

/** The response rates the payment risky. */
const RATINGS = ['risky'] as const;

const REFUND_FAULTS = [
  'refund_refused', // no refund is made
  'refund_slow', // in progress for a while, then made
  'refund_cancelled', // in progress for a while, then cancelled
] as const;

export const CALLBACK_FAULTS = ['late', 'lost', 'duplicated', 'reordered', 'forged'] as const;

export const FAULT_KINDS = [
  ...ANSWER_FAULTS,
  ...LIES,
  ...RATINGS,
  ...REFUND_FAULTS,
  'expired_token',
  'rate_limited_grant',
  ...CALLBACK_FAULTS,
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

/** The faults that each operation supports. */
export const POSSIBLE = {
  'gateway_one.initiate': ANSWER_FAULTS,
  'gateway_one.validate': [...ANSWER_FAULTS, ...LIES, ...RATINGS],
  'gateway_one.query': [...ANSWER_FAULTS, ...LIES, ...RATINGS],
  // Its responses have no amount.
  'gateway_one.refund': [...ANSWER_FAULTS, ...REFUND_FAULTS],
  'gateway_one.refund_query': [...ANSWER_FAULTS, 'wrong_transaction'],
  'gateway_two.grant': [...ANSWER_FAULTS, 'rate_limited_grant'],
  'gateway_two.create': [...ANSWER_FAULTS, 'expired_token'],
  'gateway_two.execute': [...ANSWER_FAULTS, ...LIES, 'expired_token'],
  'gateway_two.query': [...ANSWER_FAULTS, ...LIES, 'expired_token'],
  'gateway_two.refund': [...ANSWER_FAULTS, ...LIES, ...REFUND_FAULTS, 'expired_token'],
  'gateway_two.refund_query': [...ANSWER_FAULTS, 'wrong_amount', 'wrong_transaction', 'expired_token'],
  'stripe.create': ANSWER_FAULTS,
  'stripe.retrieve': [...ANSWER_FAULTS, ...LIES],
  'stripe.list': ANSWER_FAULTS,
  'stripe.expire': ANSWER_FAULTS,
  'stripe.payment_intent': ANSWER_FAULTS,
  'stripe.charge': ANSWER_FAULTS,
  'stripe.refund': [...ANSWER_FAULTS, ...REFUND_FAULTS],
  'stripe.refunds': ANSWER_FAULTS,
  'stripe.disputes': ANSWER_FAULTS,
  callback: CALLBACK_FAULTS,
} as const satisfies Record<string, readonly FaultKind[]>;

export type OperationName = keyof typeof POSSIBLE;

export const OPERATIONS = Object.keys(POSSIBLE) as readonly OperationName[]; // the keys of a constant

/** A fault for the next matching operation. */
export type Fault = {
  readonly kind: FaultKind;
  /** Default: any operation that supports it. */
  readonly operation?: OperationName;
  /** Restricts it to one payment, by the provider's or the merchant's id. */
  readonly ref?: string;
  /** Number of times; default 1. */
  readonly times?: number;
  /** Delay of a `late` callback, or duration of a refund in progress, in milliseconds; default 2,000. */
  readonly delayMs?: number;
};

/** Injects one of `kinds` (default: all) into the share `rate` (0 to 1) of all operations. */
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

const MAX_EVENTS = 10_000;

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
    /** @throws SimulatorError if the operation does not support the fault */
    add(fault: Fault): void {
      const { kind, operation, times = 1 } = fault;
      if (operation !== undefined && !includes(POSSIBLE[operation], kind)) {
        throw new SimulatorError(
          `${kind} cannot affect ${operation}: only ${POSSIBLE[operation].join(', ')} can`,
        );
      }
      if (times > 0) requested.push({ fault, left: times });
    },
    plan(next: RandomPlan): void {
      random = drawing(next);
    },
    /** Removes all requested faults and the random plan. */
    clear(): void {
      requested = [];
      random = drawing({ seed: 1, rate: 0 });
    },
    /** Faults so far, the latest last. */
    events: (): readonly FaultEvent[] => [...events],

    /** Takes the fault for this operation, if any. */
    take(operation: OperationName, payment: Payment | undefined): Fault | undefined {
      const fault = takeRequested(operation, payment) ?? random(operation);
      if (fault !== undefined) {
        const event = { kind: fault.kind, operation, ref: payment?.ref };
        events.push(event);
        onFault?.(event);
        if (events.length > MAX_EVENTS) events.shift();
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
    const pick = next(); // draws two numbers for each operation, so that the rate does not change the sequence
    const possible = kinds.filter((kind) => includes(POSSIBLE[operation], kind));
    const kind = happens ? possible[Math.floor(pick * possible.length)] : undefined;
    return kind && { kind };
  };
}

/** Random numbers in [0, 1) from a seed: Tommy Ettinger's mulberry32. */
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
