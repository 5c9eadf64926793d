// Refusals that a hub may give by mistake, such as one restored from a backup: they end a license once they are confirmed.
import { parseInstant, writeInstant } from './instant.ts';
import type { EndCode } from './reasons.ts';

/** The hub has said since then, so many times, that the license has ended. */
export type Doubt = { readonly code: EndCode; readonly since: string; readonly answers: number };

const CONFIRMED = { answers: 3, ms: 60 * 60 * 1000 };
/** Somebody has to do that: a hub does not say it for what it has lost. */
const DEFINITE: readonly EndCode[] = ['license_revoked', 'license_expired'];

/** What is left in doubt once the hub has said `code` at the time `now`; undefined if nothing is. */
export function doubtAfter(code: EndCode, now: number, before?: Doubt): Doubt | undefined {
  if (DEFINITE.includes(code)) return undefined;
  const since = parseInstant(before?.since) ?? Number.POSITIVE_INFINITY;
  // What began in the future was written by a wrong clock, or by hand.
  if (before?.code !== code || since > now) return { code, since: writeInstant(now), answers: 1 };
  const doubt = { ...before, answers: before.answers + 1 };
  return doubt.answers >= CONFIRMED.answers && now - since >= CONFIRMED.ms ? undefined : doubt;
}
