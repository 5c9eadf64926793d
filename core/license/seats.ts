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
import { findLicense } from './licenses.ts';

export type SeatsOptions = { readonly db: Database; readonly clock: Clock };

export function createSeats({ db, clock }: SeatsOptions) {
  return {
    /** @throws HubError `license_unknown`, `page_token_invalid` */
    async list(licenseId: string, includeReleased: boolean, request: PageRequest): Promise<Page<Seat>> {
      const em = db.em();
      const license = await findLicense(em, licenseId);
      const which = includeReleased ? { license } : { license, releasedAt: null };
      return readPage(request, 'seat', (after, limit) =>
        em.find(SeatSchema, after ? { ...which, id: { $lt: after } } : which, {
          orderBy: { id: 'desc' },
          limit,
        }),
      );
    },

    /** Releasing a released seat changes nothing. @throws HubError `seat_unknown` */
    release(seatId: string, actor: Actor): Promise<Seat> {
      return db.em().transactional(async (em) => {
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
        if (seat.releasedAt == null) {
          seat.releasedAt = clock();
          recordChange(em, actor, clock(), {
            action: 'seat.release',
            subject: seatId,
            detail: { licenseId: formatId('lic', seat.license.id) },
          });
        }
        return seat;
      });
    },
  };
}
