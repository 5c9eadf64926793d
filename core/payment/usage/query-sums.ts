// Sums and counts in SQL, which are exact: as bigints.
import pg, { type CustomTypesConfig, type Pool, type QueryResultRow } from 'pg';
import { DAY_MS } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import type { Database } from '../../storage/database.ts';
import { findSlot } from '../slots/slot-admin.ts';

/** `from` is inclusive, `to` exclusive. */
export type Period = { readonly from: Date | undefined; readonly to: Date | undefined };

const { INT8, NUMERIC } = pg.types.builtins;

/** Makes the driver return integers of 64 bits, and sums of them, as bigints. */
const types: CustomTypesConfig = {
  getTypeParser: (id, format) =>
    id === INT8 || id === NUMERIC ? BigInt : pg.types.getTypeParser(id, format),
};

/** With a name, the statement is prepared. Without it, the planner sees which index fits the values. */
export async function querySums<T extends QueryResultRow>(
  pool: Pool,
  text: string,
  values: unknown[],
  prepared: { readonly name?: string } = {},
): Promise<T[]> {
  const { rows } = await pool.query<T>({ text, values, types, ...prepared });
  return rows;
}

/** Bounds the cost of a call, which reads all payments of the period. */
const MAX_DAYS = 400;

/**
 * Runs a statement with the start, the end and the id of the slot; null for all slots.
 *
 * @throws HubError `period_invalid`, `slot_unknown`
 */
export async function sumPeriod<T extends QueryResultRow>(
  db: Database,
  text: string,
  slot: string | undefined,
  { from, to }: Period,
): Promise<T[]> {
  if (!from || !to || from >= to || to.getTime() - from.getTime() > MAX_DAYS * DAY_MS) {
    const message = `the period needs a start, and an end after it, at most ${MAX_DAYS} days later`;
    throw new HubError('period_invalid', message, { field: 'settledTo' });
  }
  const slotId = slot === undefined ? null : (await findSlot(db.em(), slot)).id;
  return querySums(db.pool, text, [from, to, slotId]);
}
