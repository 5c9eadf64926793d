// Receives a callback: journals it, processes it within the time budget, acknowledges it.
import { tagCallback } from '../../../lib/tracing/callback-spans.ts';
import { isTracing } from '../../../lib/tracing/spans.ts';
import { HubError } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import { CallbackMalformed, type PaymentDriver } from '../providers/driver.ts';
import { driverOf, keptFields, mayBePaid, parseClaim, SLOT_FIELD } from '../providers/registry.ts';
import { withSessionId } from '../sessions/check-return-url.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { Journal, JournalResult } from './journal.ts';
import type { JournaledCallback } from './journaled-callbacks.ts';
import type { OpenSigned } from './open-signed.ts';
import type { ProcessCallback } from './process.ts';

export type CallbackRequest = {
  readonly gateway: string;
  readonly method: string;
  readonly sessionId?: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
  /** For a gateway that signs the body. */
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
};

export type CallbackResponse = PaymentDriver['callback']['acknowledgement'] & {
  /** Where to redirect the browser to. Undefined if the provider sent the callback, or without return URL. */
  readonly returnUrl?: string;
  /** The session whose order the hub's own page shows, if there is no return URL. */
  readonly orderSessionId?: string;
};

export type ReceiveOptions = Pick<PaymentDependencies, 'metrics' | 'logger'> & {
  readonly journal: Pick<Journal, 'append'>;
  readonly process: Pick<ProcessCallback, 'inline'>;
  readonly openSigned: OpenSigned;
  /** Milliseconds until the provider is answered, whether or not the callback is processed. */
  readonly budgetMs: number;
  /** Callbacks processed at the same time. Others are journaled and left to jobs. */
  readonly maxInline: number;
};

export function createReceiveCallback(options: ReceiveOptions) {
  const { journal, process, openSigned, metrics, logger, budgetMs, maxInline } = options;
  let inFlight = 0;
  let onIdle: (() => void) | undefined;
  const acquirePermit = (): boolean => {
    if (inFlight >= maxInline) return false;
    inFlight += 1;
    return true;
  };
  const releasePermit = (): void => {
    inFlight -= 1;
    if (inFlight === 0) onIdle?.();
  };

  /** Never rejects: a job retries what fails here. */
  const attempt = async (callback: JournaledCallback): Promise<void> => {
    try {
      await process.inline(callback);
    } catch (error) {
      const callbackId = formatId('cb', callback.id);
      logger.error({ callbackId, err: error }, 'cannot process the callback inline; a job will retry it');
    } finally {
      releasePermit();
    }
  };

  const report = (result: JournalResult, gateway: string): void => {
    if (result.kind === 'counted') metrics.counted(gateway);
    else metrics.received(gateway);
    if (result.kind === 'ignored') metrics.finished(gateway, 'ignored', 1);
    if (result.kind === 'received' && isTracing()) tagSpan(result.callback);
  };

  return {
    /** @throws HubError `gateway_unknown`, `method_not_allowed`, `callback_malformed`: nothing is stored */
    async receive(request: CallbackRequest): Promise<CallbackResponse> {
      const { gateway, method } = request;
      const driver = driverOf(gateway);
      const { method: allow, acknowledgement } = driver.callback;
      if (method !== allow) {
        throw new HubError('method_not_allowed', `${gateway} sends its callbacks by ${allow}`, { allow });
      }
      const { sessionId, fields, slot, claim } = await read(openSigned, driver, request);
      const received = {
        gateway,
        claimedSessionId: sessionId,
        fields: { ...keptFields(driver.callback, fields), ...(slot !== undefined && { [SLOT_FIELD]: slot }) },
        claim,
      };
      // Ignored statuses are seldom processed, so a flood of them takes no permits from other callbacks.
      const isIgnored = claim.outcome === 'ignored';
      const hasPermit = !isIgnored && acquirePermit();
      const result = await journal.append(received, hasPermit && mayBePaid(claim)).catch((error) => {
        if (hasPermit) releasePermit();
        throw error;
      });
      report(result, gateway);
      if (result.kind !== 'received') {
        if (hasPermit) releasePermit();
      } else if (hasPermit || (isIgnored && acquirePermit())) {
        await within(attempt(result.callback), budgetMs);
      }
      return driver.callback.isFromBrowser
        ? { ...acknowledgement, ...browserReturn(result.session) }
        : acknowledgement;
    },

    /** Waits for the inline attempts that outlast their answers. */
    async idle(): Promise<void> {
      if (inFlight === 0) return;
      const finished = Promise.withResolvers<void>();
      onIdle = finished.resolve;
      await finished.promise;
    },
    get inFlight() {
      return inFlight;
    },
  };
}

function tagSpan({ id, claimedSession }: JournaledCallback): void {
  tagCallback(() => ({
    callbackId: formatId('cb', id),
    sessionId: claimedSession && formatId('chs', claimedSession.id),
  }));
}

function browserReturn(session: StoredSession | undefined): Partial<CallbackResponse> {
  if (session?.returnUrl != null) return { returnUrl: withSessionId(session.returnUrl, session.id) };
  return session?.hasPurchase ? { orderSessionId: formatId('chs', session.id) } : {};
}

/** Opens the body if the gateway signs it, and parses the claim. @throws HubError `callback_malformed` */
async function read(openSigned: OpenSigned, driver: PaymentDriver, request: CallbackRequest) {
  const { gateway, callback } = driver;
  try {
    const opened: Opened = callback.signed ? await openSigned(gateway, callback.signed, request) : request;
    return { ...opened, claim: parseClaim(driver, opened.fields) };
  } catch (error) {
    if (!(error instanceof CallbackMalformed)) throw error;
    throw new HubError('callback_malformed', error.message, { field: error.field });
  }
}

type Opened = Pick<CallbackRequest, 'sessionId' | 'fields'> & { readonly slot?: string };

/** Resolves when `work` is done or the time is up. */
function within(work: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void work.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}
