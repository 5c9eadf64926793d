// Refusals that a hub may send by mistake, for example after a restore: they end a license once confirmed.
import { formatRfc3339, parseRfc3339 } from '../license/rfc3339.ts';
import type { EndCode } from '../verdict/reasons.ts';

/** A refusal that the hub has repeated `answers` times since `since` (RFC 3339). */
export type UnconfirmedRefusal = { readonly code: EndCode; readonly since: string; readonly answers: number };

const CONFIRMED = { answers: 3, ms: 60 * 60 * 1000 };
/** Final at once: a hub with lost data does not send these. */
const DEFINITE: readonly EndCode[] = ['license_revoked', 'license_suspended', 'license_expired'];

/** Counts a refusal at the time `now` (ms since the epoch); undefined once the refusal is confirmed. */
export function nextUnconfirmedRefusal(
  code: EndCode,
  now: number,
  before?: UnconfirmedRefusal,
): UnconfirmedRefusal | undefined {
  if (DEFINITE.includes(code)) return undefined;
  const since = parseRfc3339(before?.since) ?? Number.POSITIVE_INFINITY;
  // A start in the future comes from a wrong clock or an edited record.
  if (before?.code !== code || since > now) return { code, since: formatRfc3339(now), answers: 1 };
  const repeated = { ...before, answers: before.answers + 1 };
  return repeated.answers >= CONFIRMED.answers && now - since >= CONFIRMED.ms ? undefined : repeated;
}
