// Delivers callbacks to the merchant, with retries and injected faults.
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault, Faults } from './faults.ts';
import type { Payment } from './payment.ts';
import type { CallbackRequest } from './provider.ts';

/** One attempt to deliver a callback. */
export type Delivery = {
  readonly ref: string;
  readonly method: string;
  readonly url: string;
  /** Undefined without a response. */
  readonly status: number | undefined;
  readonly durationMs: number;
  readonly forged: boolean;
};

export type CallbackOptions = {
  readonly faults: Faults;
  /** Pauses before a notification without a 2xx response is posted again. */
  readonly retryDelaysMs: readonly number[];
};

export type Callbacks = ReturnType<typeof createCallbacks>;

const TIMEOUT_MS = 10_000;
const LATE_MS = 2_000;
/** Maximum time that a reordered callback waits for the next one. */
const OVERTAKEN_WITHIN_MS = 5_000;
const MAX_DELIVERIES = 10_000;

export function createCallbacks({ faults, retryDelaysMs }: CallbackOptions) {
  const closing = new AbortController();
  const inFlight = new Set<Promise<void>>();
  const deliveries: Delivery[] = [];
  let overtaken: (() => void)[] = [];

  const attempt = async (request: CallbackRequest, ref: string, forged: boolean): Promise<boolean> => {
    const { method, url, body } = request;
    const start = performance.now();
    const ending = AbortSignal.any([closing.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const status = await statusOf(request, ending);
    if (closing.signal.aborted) return true;
    deliveries.push({ ref, method, url, status, durationMs: Math.round(performance.now() - start), forged });
    if (deliveries.length > MAX_DELIVERIES) deliveries.shift();
    // A browser that was redirected with GET does not retry.
    return body === undefined || (status !== undefined && status >= 200 && status < 300);
  };

  const deliver = async (request: CallbackRequest, ref: string): Promise<void> => {
    for (const delay of [0, ...retryDelaysMs]) {
      await wait(delay, closing.signal);
      if (closing.signal.aborted || (await attempt(request, ref, false))) return;
    }
  };

  const deliverWith = async (
    fault: Fault | undefined,
    request: CallbackRequest,
    { ref }: Payment,
    forgery: CallbackRequest | undefined,
  ): Promise<void> => {
    switch (fault?.kind) {
      case 'lost':
        return;
      case 'late':
        await wait(fault.delayMs ?? LATE_MS, closing.signal);
        return deliver(request, ref);
      case 'duplicated':
        await Promise.all([deliver(request, ref), deliver(request, ref), deliver(request, ref)]);
        return;
      case 'reordered':
        await Promise.race([
          new Promise<void>((resolve) => overtaken.push(resolve)),
          wait(OVERTAKEN_WITHIN_MS, closing.signal),
        ]);
        return deliver(request, ref);
      case 'forged':
        if (forgery !== undefined) await attempt(forgery, ref, true);
        return deliver(request, ref);
      default: {
        const released = overtaken;
        overtaken = [];
        await deliver(request, ref);
        for (const release of released) release();
      }
    }
  };

  const track = (work: Promise<void>): void => {
    const tracked = work.finally(() => inFlight.delete(tracked));
    inFlight.add(tracked);
  };

  return {
    /** Sends a callback in the background. A `forged` fault sends `forgery` first. */
    send(request: CallbackRequest, payment: Payment, forgery: CallbackRequest | undefined): void {
      if (closing.signal.aborted) return;
      track(deliverWith(faults.take('callback', payment), request, payment, forgery));
    },
    async forge(request: CallbackRequest, { ref }: Payment): Promise<void> {
      await attempt(request, ref, true);
    },
    /** Delivery attempts so far, the latest last. */
    deliveries: (): readonly Delivery[] => [...deliveries],
    /** Resolves when every callback has been delivered, lost or given up. */
    async idle(): Promise<void> {
      while (inFlight.size > 0) await Promise.all(inFlight);
    },
    async close(): Promise<void> {
      closing.abort();
      await Promise.all(inFlight);
    },
  };
}

async function statusOf({ method, url, body, headers }: CallbackRequest, signal: AbortSignal) {
  try {
    const response = await fetch(url, {
      method,
      signal,
      redirect: 'manual',
      ...(body !== undefined && {
        body,
        headers: headers?.() ?? { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    });
    await response.body?.cancel(); // a provider evaluates the status only
    return response.status;
  } catch {
    return undefined; // a provider treats refused, interrupted and slow requests alike
  }
}

/** Ends early when the signal aborts. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return pause(ms, undefined, { signal }).catch(() => undefined);
}
