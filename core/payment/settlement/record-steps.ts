// The statement that records the provider calls of verifications and checkouts.
import type { QueryConfig } from 'pg';
import { newUuid } from '../../ids.ts';
import type { Finding } from './finding.ts';

export function recordSteps(
  findings: readonly Pick<Finding, 'sessionId' | 'callbackIds' | 'steps'>[],
): QueryConfig {
  const rows = findings.flatMap(({ sessionId, callbackIds: [callbackId = null], steps }) =>
    steps.map((step) => ({ ...step, sessionId, callbackId })),
  );
  return {
    name: 'record_steps',
    text: `insert into verification (id, session_id, callback_id, operation, outcome, detail, asked_at,
                                     duration_ms)
           select * from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[],
                                $7::timestamptz[], $8::int[])`,
    values: [
      rows.map(() => newUuid()),
      rows.map((row) => row.sessionId),
      rows.map((row) => row.callbackId),
      rows.map((row) => row.operation),
      rows.map((row) => row.outcome),
      rows.map((row) => row.detail),
      rows.map((row) => row.askedAt),
      rows.map((row) => Math.round(row.durationMs)),
    ],
  };
}
