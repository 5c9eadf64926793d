// Changes the terms of a license under its lock: once per idempotency key, from the expected version only.
// Records an event and an audit entry.
import type { PoolClient } from 'pg';
import type { Actor } from '../../../access/caller.ts';
import type { Facts } from '../../../audit/entities.ts';
import { changedMembers, recordChangeNow } from '../../../audit/record.ts';
import type { Clock } from '../../../clock.ts';
import { HubError, unknownId } from '../../../errors.ts';
import { recordEvent } from '../../../event/outbox.ts';
import { runOnce, storeRequest } from '../../../idempotency/once.ts';
import { formatId, parseId } from '../../../ids.ts';
import type { Database } from '../../../storage/database.ts';
import { inTransaction } from '../../../storage/sql/transaction.ts';
import type { License } from '../../entities.ts';
import { findLicense } from '../find-licenses.ts';
import { type ChangeableTerms, type LockedLicense, lockLicense, writeTerms } from './locked-license.ts';
import { recordIfExpired } from './record-if-expired.ts';

export type ChangeOptions = { readonly db: Database; readonly clock: Clock };

export type ChangeRequest = {
  readonly licenseId: string;
  /** The terms version that the caller has seen; undefined to change any version. */
  readonly expectedTermsVersion?: number | undefined;
  readonly idempotencyKey?: string | undefined;
  /** The request as the caller sent it, without the key; a JSON value. */
  readonly request?: unknown;
};

const EVENTS = {
  'license.update': 'license.updated',
  'license.renew': 'license.renewed',
  'license.transfer': 'license.transferred',
} as const;

export type TermsChange = {
  /** The action in the audit log. */
  readonly action: keyof typeof EVENTS;
  /** Returns the new terms, under the lock of the license. Throws to refuse the change. */
  readonly decide: (license: LockedLicense, now: Date, client: PoolClient) => Promise<ChangeableTerms>;
  /** Takes the locks that must come before the lock of the license. */
  readonly prepare?: (client: PoolClient) => Promise<void>;
};

/** A license after a request. `changed` is false if the license already had the requested terms or state. */
export type Changed = { readonly license: License; readonly changed: boolean };

/**
 * Creates the function that changes the terms of a license. Equal terms change nothing. It rejects with
 * HubError `license_unknown`, `version_conflict`, `idempotency_key_reused`, or the error of the change.
 */
export function createChangeTerms({ db, clock }: ChangeOptions) {
  return async (changeRequest: ChangeRequest, change: TermsChange, actor: Actor) => {
    const { action, decide, prepare } = change;
    const { licenseId, expectedTermsVersion, idempotencyKey: key, request } = changeRequest;
    const id = parseId('lic', licenseId);
    if (id === undefined) throw unknownId('lic');
    const idempotent = key === undefined ? undefined : { scope: `${action}:${id}`, key, request };
    const read = async (changed: boolean): Promise<Changed> => ({
      license: await findLicense(db.em(), licenseId),
      changed,
    });
    const run = async (): Promise<Changed> => {
      const changed = await inTransaction(db.pool, async (client) => {
        const now = clock();
        if (idempotent) await storeRequest(client, { ...idempotent, result: { ids: [id] }, at: now });
        await prepare?.(client);
        const license = await lockLicense(client, licenseId);
        checkVersion(license, expectedTermsVersion);
        const after = await decide(license, now, client);
        return writeChange(client, { license, after, action, actor, now });
      });
      return read(changed);
    };
    return runOnce(db.pool, idempotent, { run, readEarlier: () => read(false) });
  };
}

export type TermsWrite = {
  readonly license: LockedLicense;
  readonly after: ChangeableTerms;
  readonly action: keyof typeof EVENTS;
  readonly actor: Actor;
  readonly now: Date;
};

/**
 * Writes the new terms of a locked license, the event and the audit entry. Returns false if the terms are
 * equal.
 */
export async function writeChange(
  client: PoolClient,
  { license, after, action, actor, now }: TermsWrite,
): Promise<boolean> {
  const changed = changedMembers(factsOf(license.terms), factsOf(after));
  if (changed === undefined) return false;
  await writeTerms(client, license.id, after);
  await recordEvent(client, now, { type: EVENTS[action], objectId: license.id, appId: license.app.id });
  await recordIfExpired(client, { before: license, after: { ...license, terms: after } }, now);
  await recordChangeNow(client, actor, now, {
    action,
    subject: formatId('lic', license.id),
    before: { ...withoutValues(changed.before), termsVersion: license.termsVersion },
    after: { ...withoutValues(changed.after), termsVersion: license.termsVersion + 1 },
  });
  return true;
}

function checkVersion({ termsVersion }: LockedLicense, expected: number | undefined): void {
  if (expected === undefined || expected === termsVersion) return;
  throw new HubError(
    'version_conflict',
    `the license has terms version ${termsVersion}, not ${expected}: read it again before you change it`,
    { field: 'expectedTermsVersion' },
  );
}

function factsOf({ customerId, limitProfile, expiresAt, ...terms }: ChangeableTerms): Facts {
  return {
    ...terms,
    customerId: customerId && formatId('cus', customerId),
    limitProfile: limitProfile?.name ?? null,
    expiresAt: expiresAt?.toISOString() ?? null,
  };
}

/** Of metadata the names only: a value may be personal, and could not be erased. */
function withoutValues({ metadata, ...facts }: Facts): Facts {
  return { ...facts, ...(metadata !== undefined && { metadata: Object.keys(metadata as object).sort() }) };
}
