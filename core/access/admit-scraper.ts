// Who may read metrics: also while nobody can be asked whether a token is good, which is when they are needed most.
import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Code, ConnectError, type ContextValues } from '@connectrpc/connect';
import { peerKey } from './caller.ts';

/** @throws ConnectError with a refusal, any other error if it cannot be found out */
export type AdmitScraper = (header: Headers, values: ContextValues) => Promise<void>;

/** Scrapers wait for ten seconds, as a rule; what they came for takes time as well. */
const PATIENCE_MS = 2_000;
/** Proofs remembered; there are one or two. */
const REMEMBERED = 100;
const REFUSALS: ReadonlySet<Code> = new Set([
  Code.Unauthenticated,
  Code.PermissionDenied,
  Code.ResourceExhausted,
]);

/**
 * Asks each time, so that a token that is revoked is refused at once. If there is no answer, whoever was let in at his
 * last attempt is let in.
 */
export function createAdmitScraper(ask: AdmitScraper): AdmitScraper {
  const good = new Set<string>();
  return async (header, values) => {
    const proof = proofOf(header, values);
    const late = new AbortController();
    try {
      await Promise.race([ask(header, values), tooLate(late.signal)]);
      good.add(proof);
      const [oldest] = good;
      if (good.size > REMEMBERED && oldest !== undefined) good.delete(oldest);
    } catch (error) {
      if (!(error instanceof ConnectError && REFUSALS.has(error.code)) && good.has(proof)) return;
      good.delete(proof);
      throw error;
    } finally {
      late.abort();
    }
  };
}

async function tooLate(signal: AbortSignal): Promise<never> {
  await setTimeout(PATIENCE_MS, undefined, { signal });
  throw new Error(`no answer within ${PATIENCE_MS} ms`);
}

function proofOf(header: Headers, values: ContextValues): string {
  const authorization = header.get('authorization');
  const certificate = authorization === null ? values.get(peerKey).certificate() : undefined;
  const subject = certificate?.refused === undefined ? (certificate?.subject ?? '') : '';
  return createHash('sha256')
    .update(authorization ?? `certificate ${subject}`)
    .digest('base64');
}
