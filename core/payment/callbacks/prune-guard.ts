// Keeps months with unprocessed callbacks from being pruned.
import type { PoolClient } from 'pg';
import { HubError } from '../../errors.ts';

/**
 * @throws HubError `months_in_use` if a callback with an id below `floor` is unprocessed (callback_state_idx)
 */
export async function checkNoneUnprocessed(client: PoolClient, floor: string): Promise<void> {
  const { rows } = await client.query<{ waiting: string }>(
    `select count(*) as waiting from callback where state = 'received' and id < $1`,
    [floor],
  );
  const waiting = Number(rows[0]?.waiting);
  if (waiting === 0) return;
  throw new HubError(
    'months_in_use',
    `${waiting} callbacks of these months are not processed yet: see hubctl callback list --state received`,
    { field: 'before' },
  );
}
