// Authorizes readers of metrics, also while the database that checks tokens is unavailable.
import { createHash } from 'node:crypto';
import { Code, ConnectError, type ContextValues } from '@connectrpc/connect';
import { unlessAborted, withDeadline } from '../../lib/net/deadline.ts';
import { peerKey } from './caller.ts';

/** @throws ConnectError if access is refused, any other error if authorization is unavailable */
export type MetricsAuth = (header: Headers, values: ContextValues) => Promise<void>;

/** Scrapers usually time out after ten seconds, which include the collection of metrics. */
const TIMEOUT_MS = 2_000;
const MAX_REMEMBERED = 100;
const REFUSALS: ReadonlySet<Code> = new Set([
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.ResourceExhausted,
]);

/**
 * Calls `authorize` each time, so that a revoked token is refused at once. If that fails or takes too long,
 * accepts a credential that was accepted the last time.
 */
export function createMetricsAuth(authorize: MetricsAuth): MetricsAuth {
  const accepted = new Set<string>();
  return async (header, values) => {
    const credential = hashCredential(header, values);
    try {
      await withDeadline(TIMEOUT_MS, undefined, (late) => unlessAborted(authorize(header, values), late));
      accepted.add(credential);
      const [oldest] = accepted;
      if (accepted.size > MAX_REMEMBERED && oldest !== undefined) accepted.delete(oldest);
    } catch (error) {
      const isRefusal = error instanceof ConnectError && REFUSALS.has(error.code);
      if (!isRefusal && accepted.has(credential)) return;
      accepted.delete(credential);
      throw error;
    }
  };
}

function hashCredential(header: Headers, values: ContextValues): string {
  const authorization = header.get('authorization');
  const certificate = authorization === null ? values.get(peerKey).certificate() : undefined;
  const subject = certificate?.refused === undefined ? (certificate?.subject ?? '') : '';
  return createHash('sha256')
    .update(authorization ?? `certificate ${subject}`)
    .digest('base64');
}
