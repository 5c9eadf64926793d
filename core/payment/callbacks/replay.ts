// Replays a callback for an operator. In SQL, because the callback's job is inserted in the same transaction.
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import { parseId } from '../../ids.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import type { TracedCallback } from '../settlement/status-history.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { createCallbacks } from './callback-admin.ts';
import type { Jobs } from './job-queue.ts';
import type { ProcessCallback } from './process.ts';

export type ReplayOptions = Pick<PaymentDependencies, 'pool' | 'clock'> & {
  readonly callbacks: Pick<ReturnType<typeof createCallbacks>, 'get'>;
  readonly jobs: Pick<Jobs, 'requeue'>;
  readonly process: Pick<ProcessCallback, 'byId'>;
};

export type ReplayCallback = (callbackId: string, actor: Actor) => Promise<TracedCallback>;

/**
 * Processes a callback again from the start; a settled one stays settled. Rejects with HubError
 * `callback_unknown`.
 */
export function createReplayCallback(options: ReplayOptions): ReplayCallback {
  const { pool, callbacks, jobs, process, clock } = options;
  return async (callbackId, actor) => {
    const { state } = (await callbacks.get(callbackId)).callback.callback;
    const id = parseId('cb', callbackId) ?? ''; // a callback was found by it
    await inTransaction(pool, async (client) => {
      await recordChangeNow(client, actor, clock(), {
        action: 'callback.replay',
        subject: callbackId,
        before: { state },
        after: { state: state === 'settled' ? state : 'received' },
      });
      if (state === 'settled') return;
      await client.query(
        // Clears `session_id`: a received callback with it counts as waiting for the sweep.
        `update callback set state = 'received', session_id = null, finished_at = null, tried_since = null
         where id = $1 and state = $2`,
        [id, state],
      );
      // In case this hub dies before it has processed the callback.
      await jobs.requeue(client, id);
    });
    await process.byId(id, 'replay');
    return (await callbacks.get(callbackId)).callback;
  };
}
