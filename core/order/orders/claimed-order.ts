// The result of a charge session for the bearer of its claim token: its status, and the licenses with their keys.
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { FIRST_GENERATION } from '../../license/admin/insert-licenses.ts';
import { readLicenses } from '../../license/admin/read-licenses.ts';
import type { KeySecrets } from '../../license/keys/key-secrets.ts';
import { deriveLicenseKey } from '../../license/keys/license-key.ts';
import { type ChargeSession, ChargeSessionSchema } from '../../payment/entities.ts';
import { withSessionId } from '../../payment/sessions/return-url.ts';
import type { Database } from '../../storage/database.ts';
import type { ClaimTokens } from '../claims/claim-tokens.ts';
import { readOrderOfSession, type StoredOrder } from './read-orders.ts';

export type ClaimedLicense = {
  /** UUID. */
  readonly licenseId: string;
  /** Empty if the order did not issue the license, and after the key was replaced. */
  readonly licenseKey: string;
};

export type ClaimedOrder = {
  readonly status: ChargeSession['status'];
  /** Undefined until the session is paid, and for a session without an offer. */
  readonly order: StoredOrder | undefined;
  readonly licenses: readonly ClaimedLicense[];
  /** With the session's id; undefined if the session has none. */
  readonly returnUrl: string | undefined;
};

export type ClaimedOrderOptions = {
  readonly db: Database;
  readonly claims: Pick<ClaimTokens, 'check'>;
  readonly keySecrets: Pick<KeySecrets, 'get'>;
};

/** The function rejects with HubError `session_unknown` or `claim_invalid`. */
export function createGetClaimedOrder({ db, claims, keySecrets }: ClaimedOrderOptions) {
  return async (sessionId: string, token: string): Promise<ClaimedOrder> => {
    const id = parseId('chs', sessionId);
    const session = id ? await db.em().findOne(ChargeSessionSchema, { id }) : null;
    if (session === null) {
      throw new HubError('session_unknown', 'there is no charge session with this id', {
        field: 'sessionId',
      });
    }
    const paidAt = session.status === 'success' ? session.statusChangedAt : null;
    await claims.check({ sessionId: session.id, token, paidAt });
    const order = session.hasPurchase ? await readOrderOfSession(db.pool, session.id) : undefined;
    return {
      status: session.status,
      order,
      licenses: order ? await withKeys(db, keySecrets, order) : [],
      returnUrl: session.returnUrl == null ? undefined : withSessionId(session.returnUrl, session.id),
    };
  };
}

/** A replaced key belongs to the present owner of the license. A license that was only changed is not shown. */
async function withKeys(
  db: Database,
  keySecrets: Pick<KeySecrets, 'get'>,
  order: StoredOrder,
): Promise<ClaimedLicense[]> {
  const issued = new Set(order.licenses.filter((each) => each.issued).map(({ licenseId }) => licenseId));
  const licenses = await readLicenses(
    db.em(),
    order.licenses.map(({ licenseId }) => licenseId),
  );
  return Promise.all(
    licenses.map(async ({ id, keySecret, keyGeneration }) => {
      const isShown = issued.has(id) && keyGeneration === FIRST_GENERATION;
      if (!isShown || keySecret == null) return { licenseId: id, licenseKey: '' };
      const secret = await keySecrets.get(keySecret.id);
      return { licenseId: id, licenseKey: deriveLicenseKey(secret, id, keyGeneration) };
    }),
  );
}
