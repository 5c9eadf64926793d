// Distinguishes an unavailable or overloaded database from other errors.
import { codeOf } from '../../../lib/caught-error.ts';

// SQLSTATE classes: 08 connection exception, 40 transaction rollback (deadlock, serialization), 53
// insufficient resources, 55 object not in prerequisite state (a lock not granted in time), 57 operator
// intervention (shutdown).
const OUTAGE_CLASSES = new Set(['08', '40', '53', '55', '57']);
// A standby, or a primary that is read-only: writes fail, and reads may be stale.
const READ_ONLY = '25006';
const SOCKET_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/** The server is a standby, or was made read-only. */
export class ReadOnlyDatabase extends Error {
  override readonly name = 'ReadOnlyDatabase';
  readonly code = READ_ONLY;

  constructor(remedy = '') {
    super(`it accepts no writes: it is a standby, or default_transaction_read_only is on${remedy}`);
  }
}

/** True if the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (code !== undefined) {
    if (code === READ_ONLY || SOCKET_CODES.has(code)) return true;
    return code.length === 5 && OUTAGE_CLASSES.has(code.slice(0, 2));
  }
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable);
  // pg and its pool report these without a code.
  return DRIVER_MESSAGE.test(error.message);
}

const DRIVER_MESSAGE = new RegExp(
  [
    '^(Connection terminated',
    'Query read timeout',
    'timeout (exceeded|expired)',
    'Client has encountered a connection error)',
  ].join('|'),
);
