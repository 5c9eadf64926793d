// Receives a callback: journals it, deals with it as far as the time budget allows, acknowledges.
import type { Logger } from 'pino';
import { LinkedList } from '../../ports/linked-list.ts';
import { journaled } from '../../tracing/channels.ts';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import { keptFields, readClaimOf } from './callback-fields.ts';
import type { Journal, JournaledCallback } from './journal.ts';
import type { NoteIgnored } from './note-ignored.ts';
import type { PaymentMeter } from './payment-meter.ts';
import type { ProcessCallback } from './process-callback.ts';
import { type CallbackClaim, CallbackMalformed, type PaymentDriver } from './provider.ts';
import { driverOf } from './registry.ts';

export type CallbackRequest = {
  readonly gateway: string;
  readonly method: string;
  readonly sessionId: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
};

export type ReceiveOptions = {
  readonly journal: Pick<Journal, 'append'>;
  readonly noteIgnored: NoteIgnored;
  readonly process: Pick<ProcessCallback, 'inline'>;
  readonly meter: Pick<PaymentMeter, 'received' | 'counted' | 'finished'>;
  readonly logger: Logger;
  /** Milliseconds until the provider is answered whatever has come of it. */
  readonly budgetMs: number;
  /** Callbacks dealt with at the same time; those beyond are journaled and left to jobs. */
  readonly maxInline: number;
};

export type ReceiveCallback = {
  /** @throws HubError `gateway_unknown`, `method_not_allowed`, `callback_malformed`; nothing is stored then */
  receive(request: CallbackRequest): Promise<PaymentDriver['callback']['acknowledgement']>;
  /** Waits for the inline attempts that outlast their answers. */
  settled(): Promise<void>;
  /** Callbacks that are dealt with now. */
  readonly underWay: number;
};

export function createReceiveCallback({
  journal,
  noteIgnored,
  process,
  meter,
  logger,
  budgetMs,
  maxInline,
}: ReceiveOptions): ReceiveCallback {
  const attempts = new LinkedList<Promise<void>>();
  let underWay = 0;

  const inTheBackground = (work: Promise<void>): void => {
    const link = attempts.add(work);
    void work.finally(() => attempts.remove(link));
  };

  /** Never rejects: what it does not finish, a job will. */
  const attempt = async (callback: JournaledCallback): Promise<void> => {
    try {
      await process.inline(callback);
    } catch (error) {
      logger.error(
        { callbackId: formatId('cb', callback.id), err: error },
        'callback could not be dealt with inline',
      );
    }
  };

  const tell = (appended: JournaledCallback | undefined, gateway: string): void => {
    if (appended === undefined) {
      meter.counted(gateway);
    } else {
      tellTrace(appended);
      meter.received(gateway);
    }
  };

  return {
    async receive({ gateway, method, sessionId, fields }) {
      const driver = driverOf(gateway);
      const { callback } = driver;
      if (method !== callback.method) {
        throw new HubError('method_not_allowed', `${gateway} calls back by ${callback.method}`, {
          allow: callback.method,
        });
      }
      const claim = readWellFormed(driver, fields);
      const received = { gateway, claimedSessionId: sessionId, fields: keptFields(callback, fields) };
      const noted = claim.outcome === 'ignored' ? await noteIgnored(received, claim) : undefined;
      if (noted === 'counted') meter.counted(gateway);
      if (noted === 'kept') {
        meter.received(gateway);
        meter.finished(gateway, 'ignored', 1);
      }
      if (noted !== undefined) return callback.acknowledgement;
      if (underWay >= maxInline) {
        tell(await journal.append(received, claim, false), gateway);
        return callback.acknowledgement;
      }
      underWay += 1;
      const done = (): void => {
        underWay -= 1;
      };
      const appended = await journal.append(received, claim, asksTheProvider(claim)).catch((error) => {
        done();
        throw error;
      });
      tell(appended, gateway);
      if (appended === undefined) {
        done();
        return callback.acknowledgement;
      }
      const running = attempt(appended).finally(done);
      inTheBackground(running);
      await within(running, budgetMs);
      return callback.acknowledgement;
    },

    async settled() {
      while (attempts.size > 0) await Promise.all(attempts);
    },
    get underWay() {
      return underWay;
    },
  };
}

function tellTrace({ id, claimedSession }: JournaledCallback): void {
  if (!journaled.hasSubscribers) return;
  journaled.publish({
    callbackId: formatId('cb', id),
    sessionId: claimedSession && formatId('chs', claimedSession.id),
  });
}

function readWellFormed(driver: PaymentDriver, fields: CallbackRequest['fields']): CallbackClaim {
  try {
    return readClaimOf(driver, fields);
  } catch (error) {
    if (!(error instanceof CallbackMalformed)) throw error;
    throw new HubError('callback_malformed', error.message, { field: error.field });
  }
}

/** Resolves when `work` is done, or when the time is up. */
function within(work: Promise<void>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    void work.then(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function asksTheProvider({ outcome }: CallbackClaim): boolean {
  return outcome === 'paid' || outcome === 'unknown';
}
