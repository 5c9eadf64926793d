// Deactivation: releases the seat of a machine.
import type { Pool } from 'pg';
import type { DeactivateRequest } from '../../../gen/hub/license/v1/license_service_pb.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import type { HashTypedKey } from '../keys/hash-typed-key.ts';
import { licenseKeyUnknown } from '../keys/license-key.ts';
import type { LicenseMetrics } from '../metrics.ts';

export type DeactivateOptions = {
  readonly pool: Pool;
  readonly hashTypedKey: HashTypedKey;
  readonly metrics: LicenseMetrics;
  readonly clock: Clock;
};

/**
 * Releases a seat; returns false if it is released already. Works on revoked and expired licenses too.
 * Rejects with HubError `license_key_unknown` or `seat_unknown` (the machine never had a seat).
 */
export function createDeactivate({ pool, hashTypedKey, metrics, clock }: DeactivateOptions) {
  return async ({ licenseKey, machineFingerprint }: DeactivateRequest): Promise<boolean> => {
    const keyHashes = await hashTypedKey(licenseKey);
    if (keyHashes.length === 0) throw licenseKeyUnknown(licenseKey);
    const { rows } = await pool.query<{ released: boolean; seated: boolean }>({
      name: 'deactivate',
      // license_key_hash_key, seat_active_key, seat_released_idx. It locks the license before its seats, as
      // find-or-allocate-seats.ts does. After waiting for the lock the statement still has its old snapshot,
      // in which a seat that was released meanwhile is active.
      text: `with locked as materialized (
               select id, app_id from license where key_hash = any ($1::bytea[])
               order by array_position($1::bytea[], key_hash) limit 1 for no key update
             ), released as (
               update seat s set released_at = $3
               from locked l
               where s.license_id = l.id and s.machine_fingerprint = $2 and s.released_at is null
               returning s.id, l.app_id
             ), recorded as (
               insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
               select 'seat.released', array[id], array[app_id], array[null::uuid], $3 from released
             )
             select exists (select from released) as released,
                    exists (select from seat s where s.license_id = l.id and s.machine_fingerprint = $2
                                                 and s.released_at is null)
                    or exists (select from seat s where s.license_id = l.id and s.machine_fingerprint = $2
                                                    and s.released_at is not null) as seated
             from locked l`,
      values: [keyHashes, machineFingerprint, clock()],
    });
    const [row] = rows;
    if (row === undefined) throw licenseKeyUnknown(licenseKey);
    if (!row.seated) {
      const message = 'this machine never had a seat on this license';
      throw new HubError('seat_unknown', message, { field: 'machineFingerprint' });
    }
    if (row.released) metrics.seatsReleased.byMachine.inc();
    return row.released;
  };
}
