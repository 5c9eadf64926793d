// Reads a timestamp of a request, and checks its range: binary protobuf can encode times out of range.
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';

const FIRST_MS = Date.parse('0001-01-01T00:00:00.000Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** @throws ConnectError invalid_argument with the field if the time is not in the years 1 to 9999 */
export function readTimestamp(field: string, timestamp: Timestamp): Date {
  const time = timestampDate(timestamp);
  if (time.getTime() >= FIRST_MS && time.getTime() <= LAST_MS) return time;
  throw new ConnectError(`${field}: must be a time of the years 1 to 9999`, Code.InvalidArgument);
}
