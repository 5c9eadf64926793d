// Administration of seats: list and release.
import { LockMode } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import { unknownId } from '../../errors.ts';
import { addEvent } from '../../event/outbox.ts';
import { formatId } from '../../ids.ts';
import type { ModuleDependencies } from '../../module-dependencies.ts';
import { findById } from '../../storage/sql/find-by-id.ts';
import { findPage, type Page, type PageRequest } from '../../storage/sql/page.ts';
import { LicenseSchema, type Seat, SeatSchema } from '../entities.ts';
import type { LicenseMetrics } from '../metrics.ts';
import { findLicense } from './find-licenses.ts';

export type SeatsOptions = Pick<ModuleDependencies, 'db' | 'clock'> & {
  readonly metrics: LicenseMetrics;
};

export function createSeats({ db, metrics, clock }: SeatsOptions) {
  return {
    /** @throws HubError `license_unknown`, `page_token_invalid` */
    async list(licenseId: string, includeReleased: boolean, request: PageRequest): Promise<Page<Seat>> {
      const em = db.em();
      const license = await findLicense(em, licenseId);
      // Two conditions for two partial indexes: seat_active_key, and seat_released_idx for released seats.
      const released = includeReleased ? [{ releasedAt: { $ne: null } }] : [];
      const where = [{ license, $or: [{ releasedAt: null }, ...released] }];
      return findPage({ em, entity: SeatSchema, prefix: 'seat', where }, request);
    },

    /** Releasing a released seat changes nothing. @throws HubError `seat_unknown` */
    async release(seatId: string, actor: Actor): Promise<Seat> {
      const { seat, isReleased } = await db.em().transactional(async (em) => {
        const found = await findById(em, SeatSchema, 'seat', seatId);
        // Seats change only under the lock of their license: read the seat again under the lock.
        const license = await em.findOneOrFail(
          LicenseSchema,
          { id: found.license.id },
          { lockMode: LockMode.PESSIMISTIC_WRITE },
        );
        const seat = await em.refresh(found);
        if (seat === null) throw unknownId('seat');
        const isActive = seat.releasedAt == null;
        if (isActive) {
          seat.releasedAt = clock();
          addEvent(em, clock(), { type: 'seat.released', objectId: seat.id, appId: license.app.id });
          recordChange(em, actor, clock(), {
            action: 'seat.release',
            subject: seatId,
            before: { state: 'active' },
            after: { state: 'released' },
            detail: { licenseId: formatId('lic', seat.license.id) },
          });
        }
        return { seat, isReleased: isActive };
      });
      if (isReleased) metrics.seatsReleased.byOperator.inc();
      return seat;
    },
  };
}
