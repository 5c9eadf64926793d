// Issues licenses with derived keys: the database stores only their hashes.
import type { PoolClient } from 'pg';
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import {
  findOrCreateCustomer,
  type InlineCustomer,
  type InlineCustomerOptions,
} from '../../customer/inline-customer.ts';
import { lockCustomerForShare } from '../../customer/lock-customer.ts';
import { recordEvents } from '../../event/outbox.ts';
import { type IdempotentRequest, runOnce, storeRequest } from '../../idempotency/once.ts';
import { formatId } from '../../ids.ts';
import type { ModuleDependencies } from '../../module-dependencies.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import type { App, License } from '../entities.ts';
import { recordPassedEnds } from '../expiry-events.ts';
import { deriveLicenseKey } from '../keys/license-key.ts';
import type { KeySecrets } from '../keys/open-key-secrets.ts';
import { expiryEndMs } from '../state.ts';
import { findApp } from './find-app.ts';
import { readLicenses } from './find-licenses.ts';
import { FIRST_GENERATION, insertLicenses, type LicenseKeyRow, newLicense } from './insert-licenses.ts';
import { type NewTerms, type RequestedTerms, resolveTerms } from './issue-terms.ts';

/** The idempotency key of a caller, and the request as sent, without that key; a JSON value. */
export type Repeatable = Pick<IdempotentRequest, 'key' | 'request'>;

export type IssueRequest = RequestedTerms & {
  readonly app: string;
  /** `cus_…`, or the name and email of a customer. */
  readonly customer: string | InlineCustomer | undefined;
  readonly count: number;
  /** The apps that the caller's token is limited to; undefined if it is not limited. */
  readonly callerApps: readonly string[] | undefined;
  readonly repeatable: Repeatable | undefined;
};

/** `licenseKey` is empty if the license has another key since the request was first made. */
export type Issued = { readonly license: License; readonly licenseKey: string };

export type IssueOptions = Pick<ModuleDependencies, 'db' | 'sealer' | 'clock'> & {
  readonly keySecrets: KeySecrets;
};

/**
 * Issues all licenses or none. Rejects with HubError `app_unknown`, `limit_profile_unknown`,
 * `customer_unknown`, `customer_erased`, `expiry_invalid`, `period_invalid`, `signed_metadata_invalid` or
 * `idempotency_key_reused`.
 */
export function createIssueLicenses({ db, sealer, keySecrets, clock }: IssueOptions) {
  const issue = async (
    app: App,
    request: IssueRequest,
    remembered: IdempotentRequest | undefined,
    actor: Actor,
  ): Promise<Issued[]> => {
    const now = clock();
    const terms = await resolveTerms(db.em(), app, request, now);
    const { id: keySecretId, secret } = await keySecrets.active('derivation');
    const issued = Array.from({ length: request.count }, () => newLicense(secret));
    const ids = issued.map(({ id }) => id);
    await inTransaction(db.pool, async (client, send) => {
      const options = { sealer, actor, now, apps: request.callerApps };
      const customerId = await findCustomer(client, request.customer, options);
      if (remembered) {
        await storeRequest(client, {
          ...remembered,
          result: { ids, keyGeneration: FIRST_GENERATION },
          customerId: typeof request.customer === 'object' ? customerId : null,
          at: now,
        });
      }
      const rows = issued.map((each) => ({ ...each, customerId }));
      send(insertLicenses(rows, { appId: app.id, keySecretId, createdAt: now, terms }));
      const events = ids.map((objectId) => ({ type: 'license.issued', objectId, appId: app.id }) as const);
      send(recordEvents(now, events));
      // The expiry may have passed during the waits for the customer and for the idempotency key.
      const afterMs = expiryEndMs({ ...terms, revoked: false });
      const end = { appId: app.id, beforeMs: Number.POSITIVE_INFINITY, afterMs };
      const ends = ids.map((licenseId) => ({ ...end, licenseId }));
      await recordPassedEnds(client, ends, now);
      await recordChangeNow(client, actor, now, {
        action: 'license.issue',
        subject: formatId('app', app.id),
        before: null,
        after: issueFacts(issued, terms, customerId),
        detail: { slug: app.slug },
      });
    });
    const licenses = await readLicenses(db.em(), ids);
    return licenses.map((license, index) => ({ license, licenseKey: issued[index]?.licenseKey ?? '' }));
  };

  /** The licenses of an earlier request, with those keys that are still current. */
  const showAgain = async (ids: readonly string[], generation: number | null): Promise<Issued[]> => {
    const licenses = await readLicenses(db.em(), ids);
    return Promise.all(
      licenses.map(async (license) => {
        const { keySecret, keyGeneration } = license;
        if (!keySecret || keyGeneration !== generation) return { license, licenseKey: '' };
        const secret = await keySecrets.get(keySecret.id);
        return { license, licenseKey: deriveLicenseKey(secret, license.id, keyGeneration) };
      }),
    );
  };

  return async (request: IssueRequest, actor: Actor): Promise<Issued[]> => {
    const app = await findApp(db.em(), request.app);
    const remembered = request.repeatable && { ...request.repeatable, scope: `IssueLicenses:${app.id}` };
    return runOnce(db.pool, remembered, {
      run: () => issue(app, request, remembered, actor),
      readEarlier: ({ ids, keyGeneration }) => showAgain(ids, keyGeneration),
    });
  };
}

/** @throws HubError `customer_unknown`, `customer_erased` */
async function findCustomer(
  client: PoolClient,
  customer: IssueRequest['customer'],
  options: InlineCustomerOptions,
): Promise<string | null> {
  if (customer === undefined) return null;
  if (typeof customer === 'object') return findOrCreateCustomer(client, customer, options);
  return lockCustomerForShare(client, customer);
}

/** For the audit log. Of the vendor's own data only the names: a value may be personal. */
function issueFacts(issued: readonly LicenseKeyRow[], terms: NewTerms, customerId: string | null) {
  const [first, last] = [issued.at(0), issued.at(-1)];
  const { limitProfile, metadata, ...others } = terms;
  return {
    count: issued.length,
    ...(first && last && { first: formatId('lic', first.id), last: formatId('lic', last.id) }),
    ...others,
    limitProfile: limitProfile?.name ?? null,
    metadata: Object.keys(metadata).sort(),
    customerId: customerId && formatId('cus', customerId),
  };
}
