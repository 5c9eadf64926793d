// Settlement: the only code that changes a session's status. Repeating a settlement changes nothing.
//
// Findings that arrive at the same time share a transaction. A finding that cannot be settled with the
// others, or whose batch fails, is settled in a batch of its own.
import { DatabaseError, type Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { formatId } from '../../ids.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { mayBeCausedByOneItem } from '../../storage/sql/transaction.ts';
import type { PaymentMetrics } from '../metrics.ts';
import { ProviderUnavailable } from '../providers/driver.ts';
import type { Sales } from '../sales.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { Fence } from '../verification/lease.ts';
import { settleBatch } from './batch.ts';
import type { Finding, Settlement } from './finding.ts';

export type SettleOptions = Pick<Sales, 'fulfill' | 'takeBack'> & {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly metrics: PaymentMetrics;
  readonly logger: Pick<Logger, 'warn'>;
  /** Called after the commit. */
  readonly onChange: (sessionId: string) => void;
};

/**
 * Settles a session by a finding. Resolves with undefined, and settles nothing, if another hub took the
 * verification lease of the finding since: the caller must verify again.
 *
 * @throws ProviderUnavailable if a new checkout has the payment id of another one
 */
export type Settle = {
  (finding: Finding & { readonly fence?: undefined }): Promise<Settlement>;
  (finding: Finding & { readonly fence: Fence }): Promise<Settlement | undefined>;
};

type Result = Settlement | 'fenced';

export function createSettle(options: SettleOptions): Settle {
  const settleTogether = createBatcher<Finding, Result | undefined>({
    maxSize: 64,
    maxInFlight: 2,
    async run(findings) {
      const results = await settleEach(options, findings, true).catch((error) => {
        if (mayBeCausedByOneItem(error)) return new Map<Finding, Result>();
        throw error;
      });
      return findings.map((finding) => results.get(finding));
    },
  });
  const settleAlone = async (finding: Finding): Promise<Result> => {
    const results = await settleEach(options, [finding], false).catch((error) => {
      const isTaken =
        error instanceof DatabaseError && error.constraint === 'charge_session_provider_payment_id_key';
      throw isTaken ? new ProviderUnavailable('the provider gave the payment id of another session') : error;
    });
    const result = results.get(finding);
    if (result === undefined) throw new Error(`charge session ${finding.sessionId} is gone`);
    return result;
  };
  const settle = async (finding: Finding): Promise<Settlement | undefined> => {
    const result = (await settleTogether(finding)) ?? (await settleAlone(finding));
    if (result === 'fenced') return undefined;
    if (result.changed) options.onChange(finding.sessionId);
    return result;
  };
  // One settlement of a session at a time: the next one would only wait for its row, with a connection of the
  // pool.
  const last = new Map<string, Promise<unknown>>();
  const settleInTurn = (finding: Finding): Promise<Settlement | undefined> => {
    const { sessionId } = finding;
    const turn = (last.get(sessionId) ?? Promise.resolve()).then(() => settle(finding));
    const done = turn
      .catch(() => {}) // the caller handles it
      .finally(() => last.get(sessionId) === done && last.delete(sessionId));
    last.set(sessionId, done);
    return turn;
  };
  return settleInTurn as Settle; // without a fence the result is always a settlement
}

/** Findings that must be settled in a batch of their own have no result. */
async function settleEach(
  options: SettleOptions,
  findings: readonly Finding[],
  isShared: boolean,
): Promise<ReadonlyMap<Finding, Result>> {
  const { clock, metrics } = options;
  const { judged, finishedCallbacks } = await settleBatch(findings, { ...options, at: clock(), isShared });
  for (const { gateway, state } of finishedCallbacks) metrics.finished(gateway, state, 1);
  const results = new Map<Finding, Result>();
  for (const { finding, session, decision } of judged) {
    if (decision === undefined) {
      reportFenced(options, finding, session);
      results.set(finding, 'fenced');
      continue;
    }
    const { outcome, changed, next } = decision;
    if (next.status !== session.status) metrics.statusChanged(session, next.status);
    results.set(finding, { outcome, changed });
  }
  return results;
}

function reportFenced({ metrics, logger }: SettleOptions, finding: Finding, session: StoredSession): void {
  metrics.fenced(session.slot);
  logger.warn(
    {
      sessionId: formatId('chs', session.id),
      answer: finding.verdict.detail,
      fencingNumber: finding.fence?.fencingNumber,
      currentNumber: session.fencingNumber,
    },
    'another hub took the verification lease: the answer is discarded and the provider is called again',
  );
}
