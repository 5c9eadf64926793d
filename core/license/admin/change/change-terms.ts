// Changes the terms of a license under its lock: once for an idempotency key, only from the expected version, and audited.
import { isDeepStrictEqual } from 'node:util';
import type { PoolClient } from 'pg';
import type { Actor } from '../../../access/caller.ts';
import { recordChangeNow } from '../../../audit/record.ts';
import type { Clock } from '../../../clock.ts';
import { HubError } from '../../../errors.ts';
import { recordEvent } from '../../../event/outbox.ts';
import { answerOnce, rememberRequest } from '../../../idempotency/once.ts';
import { formatId, parseId } from '../../../ids.ts';
import type { Database } from '../../../storage/database.ts';
import { inTransaction } from '../../../storage/sql/transaction.ts';
import type { License } from '../../entities.ts';
import { findLicense, licenseUnknown } from '../licenses.ts';
import { type ChangeableTerms, type LockedLicense, lockLicense, writeTerms } from './locked-license.ts';

export type ChangeOptions = { readonly db: Database; readonly clock: Clock };

/** A request to change one license. */
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
  /** Of the audit log. */
  readonly action: keyof typeof EVENTS;
  /** The terms after the change. Runs under the lock; throws to refuse the change. */
  readonly decide: (license: LockedLicense, now: Date, client: PoolClient) => Promise<ChangeableTerms>;
  /** Runs before the license is locked, for locks that come before it. */
  readonly prepare?: (client: PoolClient) => Promise<void>;
};

/** A license after a request; not changed if it was as requested already. */
export type Changed = { readonly license: License; readonly changed: boolean };

export type ChangeTerms = (request: ChangeRequest, change: TermsChange, actor: Actor) => Promise<Changed>;

/**
 * Changes the terms of a license, and returns it. Equal terms change nothing. Rejects with HubError
 * `license_unknown`, `version_conflict`, `idempotency_key_reused`, or the error of the change.
 */
export function createChangeTerms({ db, clock }: ChangeOptions): ChangeTerms {
  return async (given, { action, decide, prepare }, actor) => {
    const { licenseId, expectedTermsVersion, idempotencyKey: key, request } = given;
    const id = parseId('lic', licenseId);
    if (id === undefined) throw licenseUnknown();
    const once = key === undefined ? undefined : { scope: `${action}:${id}`, key, request };
    const read = async (changed: boolean): Promise<Changed> => ({
      license: await findLicense(db.em(), licenseId),
      changed,
    });
    const first = async (): Promise<Changed> => {
      const changed = await inTransaction(db.pool, async (client) => {
        const now = clock();
        if (once) await rememberRequest(client, { ...once, result: { ids: [id] }, at: now });
        await prepare?.(client);
        const license = await lockLicense(client, licenseId);
        checkVersion(license, expectedTermsVersion);
        const after = await decide(license, now, client);
        return writeChange(client, { license, after, action, actor, now });
      });
      return read(changed);
    };
    return answerOnce(db.pool, once, { first, again: () => read(false) });
  };
}

type Write = {
  readonly license: LockedLicense;
  readonly after: ChangeableTerms;
  readonly action: keyof typeof EVENTS;
  readonly actor: Actor;
  readonly now: Date;
};

/** Returns whether there is a difference. */
async function writeChange(
  client: PoolClient,
  { license, after, action, actor, now }: Write,
): Promise<boolean> {
  const [was, is] = differences(license.terms, after);
  if (Object.keys(is).length === 0) return false;
  await writeTerms(client, license.id, after);
  await recordEvent(client, now, { type: EVENTS[action], objectId: license.id, appId: license.app.id });
  await recordChangeNow(client, actor, now, {
    action,
    subject: formatId('lic', license.id),
    before: { ...was, termsVersion: license.termsVersion },
    after: { ...is, termsVersion: license.termsVersion + 1 },
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

/** The members that differ, before and after, as the audit log shows them. */
function differences(before: ChangeableTerms, after: ChangeableTerms): [object, object] {
  const [was, is] = [factsOf(before), factsOf(after)];
  const changed = Object.keys(is).filter((name) => !isDeepStrictEqual(was[name], is[name]));
  const pick = (facts: typeof was) => Object.fromEntries(changed.map((name) => [name, facts[name]]));
  return [pick(was), pick(is)];
}

function factsOf({
  customerId,
  limitProfile,
  expiresAt,
  ...terms
}: ChangeableTerms): Record<string, unknown> {
  return {
    ...terms,
    customerId: customerId && formatId('cus', customerId),
    limitProfile: limitProfile?.name ?? null,
    expiresAt: expiresAt?.toISOString() ?? null,
  };
}
