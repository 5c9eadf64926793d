// Administration of seats: look and release.
import { LockMode } from '@mikro-orm/postgresql';
import { recordChange } from '../access/audit.ts';
import type { Actor } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { formatId, parseId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { type Page, type PageRequest, readPage } from '../storage/page.ts';
import { LicenseSchema, type Seat, SeatSchema } from './entities.ts';
import type { LicenseMeter } from './license-meter.ts';
import { findLicense } from './licenses.ts';

export type SeatsOptions = {
  readonly db: Database;
  readonly meter: LicenseMeter;
  readonly clock: Clock;
};

export function createSeats({ db, meter, clock }: SeatsOptions) {
  return {
    /** @throws HubError `license_unknown`, `page_token_invalid` */
    async list(licenseId: string, includeReleased: boolean, request: PageRequest): Promise<Page<Seat>> {
      const em = db.em();
      const license = await findLicense(em, licenseId);
      // seat_active_key, and seat_released_idx besides: an index has the ones or the others, so both are named.
      const released = includeReleased ? [{ releasedAt: { $ne: null } }] : [];
      const which = { license, $or: [{ releasedAt: null }, ...released] };
      return readPage(request, 'seat', (after, limit) =>
        em.find(SeatSchema, after ? { ...which, id: { $lt: after } } : which, {
          orderBy: { id: 'desc' },
          limit,
        }),
      );
    },

    /** Releasing a released seat changes nothing. @throws HubError `seat_unknown` */
    async release(seatId: string, actor: Actor): Promise<Seat> {
      const { seat, isReleased } = await db.em().transactional(async (em) => {
        const id = parseId('seat', seatId);
        const found = id ? await em.findOne(SeatSchema, { id }) : null;
        if (found === null)
          throw new HubError('seat_unknown', 'there is no seat with this id', { field: 'seatId' });
        // The seats of a license change only under the license's lock; so look again once it is held.
        await em.findOneOrFail(
          LicenseSchema,
          { id: found.license.id },
          { lockMode: LockMode.PESSIMISTIC_WRITE },
        );
        const seat = await em.refresh(found);
        if (seat === null)
          throw new HubError('seat_unknown', 'there is no seat with this id', { field: 'seatId' });
        const isActive = seat.releasedAt == null;
        if (isActive) {
          seat.releasedAt = clock();
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
      if (isReleased) meter.seatsReleased.byOperator.add();
      return seat;
    },
  };
}
