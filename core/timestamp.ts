// Converts timestamps of messages, and checks those of requests: binary protobuf can encode any time.
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';

const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
/** RFC 3339 has four digits for the year. */
export const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** @throws ConnectError invalid_argument with the field if the time is not in the years 1 to 9999 */
export function readTimestamp(field: string, timestamp: Timestamp): Date {
  const time = timestampDate(timestamp);
  if (time.getTime() >= FIRST_MS && time.getTime() <= LAST_MS) return time;
  throw new ConnectError(`${field}: must be a time of the years 1 to 9999`, Code.InvalidArgument);
}

/** The times in `from` with these names, for a message. Leaves out those that are not set. */
export function timestampsIn<K extends string>(
  from: Partial<Record<NoInfer<K>, Date | null | undefined>>,
  ...names: readonly K[]
): Partial<Record<K, Timestamp>> {
  const set = names.flatMap((name) => {
    const time = from[name];
    return time ? [[name, timestampFromDate(time)]] : [];
  });
  return Object.fromEntries(set); // a computed name loses its type
}
