// Records a change that webhooks would report, in the transaction of the change, as the hub does.
import type { PoolClient } from 'pg';

const EVENT = 'insert into event (at, type, subject) values (now(), $1, $2)';

export async function recordEvent(client: PoolClient, type: string, subject: string): Promise<void> {
  await client.query({ name: 'event', text: EVENT, values: [type, subject] });
}
