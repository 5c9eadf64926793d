// POST /v1/activate of the peer: one statement for a machine that has its seat, seven for a new seat with a lock on the
// license, and a signature.
import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { recordEvent } from './event.ts';
import { Refusal } from './refuse.ts';
import { inTransaction } from './transaction.ts';

type Request = { licenseKey: string; machineFingerprint: string; machineLabel?: string; appVersion?: string };

const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength });
const schema = {
  body: {
    type: 'object',
    required: ['licenseKey', 'machineFingerprint'],
    properties: {
      licenseKey: text(64),
      machineFingerprint: text(256),
      machineLabel: text(128),
      appVersion: text(32),
    },
  },
};

const LICENSE = `l.id, l.app, l.customer, l.seat_limit, l.terms_version, l.limits, l.expires_at, l.revoked_at, a.kid,
  a.private_key_pem, a.public_key_pem`;
/** The time of use is current for five minutes of the same day, like that of the hub. */
const FIND_CURRENT = `
  select ${LICENSE}, s.id as seat_id
  from license l join app a on a.slug = l.app
  join seat s on s.license_id = l.id and s.machine_fingerprint = $2 and s.released_at is null
  where l.key_hash = $1 and s.machine_label = $3 and s.app_version = $4
    and s.last_seen_at > greatest(now() - interval '5 minutes', date_trunc('day', now(), 'UTC'))`;
const LOCK_LICENSE = `
  select ${LICENSE} from license l join app a on a.slug = l.app where l.key_hash = $1 for update of l`;
const FIND_SEAT = `
  select (select id from seat where license_id = $1 and machine_fingerprint = $2 and released_at is null) as id,
         (select count(*)::int from seat where license_id = $1 and released_at is null) as used`;
const INSERT_SEAT = `
  insert into seat (license_id, machine_fingerprint, machine_label, app_version, last_seen_at)
  values ($1, $2, $3, $4, now()) returning id`;
const REFRESH_SEAT =
  'update seat set machine_label = $2, app_version = $3, last_seen_at = now() where id = $1';

/**
 * Finds the seat of a machine. If it has none, or the seat has to be written, locks the license, and takes a seat or
 * refreshes it. @throws Refusal
 */
export async function findOrTakeSeat(pool: Pool, keyHash: Buffer, request: Omit<Request, 'licenseKey'>) {
  const { machineFingerprint, machineLabel = '', appVersion = '' } = request;
  const values = [keyHash, machineFingerprint, machineLabel, appVersion];
  const [current] = (await pool.query({ name: 'current', text: FIND_CURRENT, values })).rows;
  if (current !== undefined) {
    refuseEnded(current);
    return { license: current, seatId: current.seat_id };
  }
  return inTransaction(pool, async (client) => {
    const [license] = (await client.query({ name: 'lock', text: LOCK_LICENSE, values: [keyHash] })).rows;
    if (license === undefined) throw new Refusal(404, 'license_key_unknown');
    refuseEnded(license);
    const machine = [license.id, machineFingerprint];
    const [seat] = (await client.query({ name: 'seat', text: FIND_SEAT, values: machine })).rows;
    if (seat.id !== null) {
      await client.query({
        name: 'refresh',
        text: REFRESH_SEAT,
        values: [seat.id, machineLabel, appVersion],
      });
      return { license, seatId: seat.id };
    }
    if (license.seat_limit !== -1 && seat.used >= license.seat_limit)
      throw new Refusal(409, 'seat_limit_reached');
    const values = [...machine, machineLabel, appVersion];
    const [taken] = (await client.query({ name: 'insert', text: INSERT_SEAT, values })).rows;
    await recordEvent(client, 'seat.activated', taken.id);
    return { license, seatId: taken.id };
  });
}

function refuseEnded(license: { readonly revoked_at: Date | null; readonly expires_at: Date | null }): void {
  if (license.revoked_at !== null) throw new Refusal(410, 'license_revoked');
  if (license.expires_at !== null && license.expires_at <= new Date())
    throw new Refusal(410, 'license_expired');
}

export function activate(app: FastifyInstance, pool: Pool): void {
  const keys = new Map<string, KeyObject>();
  const keyOf = (kid: string, pem: string): KeyObject => {
    const key = keys.get(kid) ?? createPrivateKey(pem);
    keys.set(kid, key);
    return key;
  };

  app.post<{ Body: Request }>('/v1/activate', { schema }, async ({ body: { licenseKey, ...machine } }) => {
    const keyHash = createHash('sha256').update(licenseKey.replaceAll('-', '').toUpperCase()).digest();
    const { license, seatId } = await findOrTakeSeat(pool, keyHash, machine);
    // The members are in canonical order, so that the text can be signed directly.
    const content = {
      alg: 'ES256',
      app: license.app,
      customer: license.customer ?? undefined,
      issuedAt: new Date().toISOString(),
      kid: license.kid,
      licenseId: license.id,
      limits: license.limits ?? undefined,
      machineFingerprint: machine.machineFingerprint,
      seatId,
      termsVersion: license.terms_version,
    };
    const signature = sign('sha256', Buffer.from(JSON.stringify(content)), {
      key: keyOf(license.kid, license.private_key_pem),
      dsaEncoding: 'ieee-p1363',
    }).toString('base64url');
    return { ok: true, license: { ...content, signature }, publicKeyPem: license.public_key_pem };
  });
}
