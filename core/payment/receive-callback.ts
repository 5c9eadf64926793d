// Receives a callback: journals it, deals with it as far as the time budget allows, acknowledges.
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import type { Jobs } from './jobs.ts';
import type { Journal } from './journal.ts';
import { type ProcessCallback, TryAgainLater } from './process-callback.ts';
import { CallbackMalformed, type PaymentDriver } from './provider.ts';
import { driverOf } from './registry.ts';

export type CallbackRequest = {
  readonly gateway: string;
  readonly method: string;
  readonly sessionId: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
};

export type ReceiveOptions = {
  readonly journal: Journal;
  readonly jobs: Jobs;
  readonly process: ProcessCallback;
  readonly logger: Logger;
  /** Milliseconds until the provider is answered whatever has come of it. */
  readonly budgetMs: number;
};

export type ReceiveCallback = {
  /** @throws HubError `gateway_unknown`, `method_not_allowed`, `callback_malformed`; nothing is stored then */
  receive(request: CallbackRequest): Promise<PaymentDriver['callback']['acknowledgement']>;
  /** Waits for the inline attempts that outlast their answers. */
  settled(): Promise<void>;
};

export function createReceiveCallback({
  journal,
  jobs,
  process,
  logger,
  budgetMs,
}: ReceiveOptions): ReceiveCallback {
  const attempts = new Set<Promise<void>>();

  /** Never rejects: what it does not finish, the job of the callback will. */
  const attempt = async (callbackId: string): Promise<void> => {
    try {
      await process(callbackId);
      await jobs.remove(callbackId);
    } catch (error) {
      const about = { callbackId: formatId('cb', callbackId) };
      if (error instanceof TryAgainLater)
        logger.info({ ...about, reason: error.message }, 'callback is tried again');
      else logger.error({ ...about, err: error }, 'callback could not be dealt with inline');
    }
  };

  return {
    async receive({ gateway, method, sessionId, fields }) {
      const { callback, readCallback } = driverOf(gateway);
      if (method !== callback.method) {
        throw new HubError('method_not_allowed', `${gateway} calls back by ${callback.method}`, {
          allow: callback.method,
        });
      }
      try {
        readCallback(fields);
      } catch (error) {
        if (!(error instanceof CallbackMalformed)) throw error;
        throw new HubError('callback_malformed', error.message, { field: error.field });
      }
      const kept = without(fields, callback.unjournaled ?? []);
      const callbackId = await journal.append({ gateway, claimedSessionId: sessionId, fields: kept });
      const running = attempt(callbackId);
      attempts.add(running);
      void running.finally(() => attempts.delete(running));
      const outOfTime = new AbortController();
      await Promise.race([
        running,
        setTimeout(budgetMs, undefined, { signal: outOfTime.signal }).catch(() => {}),
      ]);
      outOfTime.abort();
      return callback.acknowledgement;
    },

    async settled() {
      await Promise.all(attempts);
    },
  };
}

function without(fields: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}
