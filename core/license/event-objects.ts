// Reads the licenses and seats of events.
import {
  LicenseSchema as LicenseMessage,
  SeatSchema as SeatMessage,
} from '../../gen/hub/license/v1/license_pb.ts';
import type { Clock } from '../clock.ts';
import { type ObjectReaders, showObject } from '../event/read-objects.ts';
import type { Database } from '../storage/database.ts';
import { readLicenses } from './admin/find-licenses.ts';
import { SeatSchema } from './entities.ts';
import { licenseToProto, seatToProto } from './messages.ts';

export function createLicenseReaders(db: Database, clock: Clock): Pick<ObjectReaders, 'license' | 'seat'> {
  return {
    async license(ids) {
      const licenses = await readLicenses(db.em(), ids);
      return new Map(
        licenses.map((license) => [
          license.id,
          {
            data: showObject(LicenseMessage, licenseToProto(license, clock())),
            customerId: license.customer?.id ?? null,
          },
        ]),
      );
    },
    async seat(ids) {
      const seats = await db.em().find(SeatSchema, { id: { $in: [...ids] } });
      return new Map(seats.map((seat) => [seat.id, { data: showObject(SeatMessage, seatToProto(seat)) }]));
    },
  };
}
