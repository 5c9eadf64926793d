// Checks before the measurements that two servers give responses of the same shape to the same requests, and write the same
// number of rows.
import { setTimeout } from 'node:timers/promises';
import type { Case } from './cases.ts';
import type { Server } from './sides/side.ts';

/** Tables that the hub and the peer both have. */
export const COMPARED_TABLES: readonly string[] = [
  'seat',
  'license',
  'callback',
  'callback_count',
  'verification',
  'usage_log',
  'fee_line',
  'audit_entry',
  'event',
  'sales_order',
  'order_license',
];

/** The hub moves its events to their table after the response. */
const ROWS_WITHIN_MS = 5_000;
const POLL_INTERVAL_MS = 50;

/**
 * @param tables Both servers must add the same number of rows to each.
 * @throws Error that names the first difference, since a comparison of servers that do different work is
 * invalid
 */
export async function checkAgreement(
  cases: readonly Case[],
  one: Server,
  other: Server,
  tables: readonly string[],
): Promise<void> {
  for (const each of cases) {
    const [ours, theirs] = [await exchange(each, one, tables), await exchange(each, other, tables)];
    if (ours.answer !== theirs.answer)
      throw new Error(`${each.name}: ${one.name} answers ${ours.answer}, ${other.name} ${theirs.answer}`);
    const giveUpAt = performance.now() + ROWS_WITHIN_MS;
    for (;;) {
      const [added, expected] = [await ours.addedRows(), await theirs.addedRows()];
      if (added === expected) break;
      if (performance.now() > giveUpAt)
        throw new Error(`${each.name}: ${one.name} adds ${added}, ${other.name} adds ${expected}`);
      await setTimeout(POLL_INTERVAL_MS);
    }
  }
}

type Exchange = {
  /** The status and the member names of a JSON response, or the number of lines of any other text. */
  readonly answer: string;
  /** The rows that were added since the request was sent, such as `callback 1, event 1`, or `nothing`. */
  addedRows(): Promise<string>;
};

async function exchange(
  { prepare }: Case,
  { port, database }: Server,
  tables: readonly string[],
): Promise<Exchange> {
  const request = (await prepare(database, 1))();
  const counts = () => Promise.all(tables.map((table) => database?.count(`select from ${table}`) ?? 0));
  const before = await counts();
  const [, method = '', target = '', head = '', body = ''] =
    /^(\S+) (\S+) HTTP\/1\.1\r\n(.*?)\r\n\r\n(.*)$/s.exec(request ?? '') ?? [];
  const type = /^content-type: (.*)$/im.exec(head)?.[1]?.trim();
  const response = await fetch(`http://127.0.0.1:${port}${target}`, {
    method,
    ...(type !== undefined && { headers: { 'content-type': type }, body }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return {
    answer: `${response.status} ${isJson ? shapeOf(JSON.parse(text)) : `${text.split('\n').length} lines`}`,
    async addedRows() {
      const added = (await counts()).map((count, index) => count - (before[index] ?? 0));
      const rows = tables.flatMap((table, index) => (added[index] === 0 ? [] : `${table} ${added[index]}`));
      return rows.join(', ') || 'nothing';
    },
  };
}

function shapeOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return typeof value;
  const members = Object.entries(value).map(([name, member]) => `${name}: ${shapeOf(member)}`);
  return `{${members.sort().join(', ')}}`;
}
