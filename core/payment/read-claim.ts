// Reads again what a journaled callback claims.
import { readClaimOf } from './callback-fields.ts';
import type { JournaledCallback } from './journal.ts';
import { type CallbackClaim, CallbackMalformed } from './provider.ts';
import { driverOf } from './registry.ts';

/** Undefined for what this hub's drivers do not take: only an older hub's journal can hold it. */
export function readClaim({
  gateway,
  fields,
}: Pick<JournaledCallback, 'gateway' | 'fields'>): CallbackClaim | undefined {
  try {
    return readClaimOf(driverOf(gateway), fields);
  } catch (error) {
    if (error instanceof CallbackMalformed) return undefined;
    throw error;
  }
}
