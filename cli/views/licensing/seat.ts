// JSON schema and columns of seats.
import type { Seat } from '../../../gen/hub/license/v1/license_pb.ts';
import { requireField } from '../../connect/require-field.ts';
import { id, object, oneOf, optional, text, time, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';

export const SEAT = object(
  'Seat',
  {
    seatId: id('seat'),
    licenseId: id('lic'),
    state: oneOf(['active', 'released'], 'whether it is taken'),
    machineFingerprint: text(),
    machineLabel: optional(text('label of the machine')),
    appVersion: optional(text('version of the application at its last activation')),
    activatedAt: time(),
    lastSeenAt: optional(time()),
    releasedAt: optional(time('when it was released')),
  },
  { message: 'hub.license.v1.Seat' },
);
export type SeatView = ValueOf<typeof SEAT>;

export function seatView(seat: Seat): SeatView {
  return {
    seatId: seat.seatId,
    licenseId: seat.licenseId,
    state: seat.releasedAt ? 'released' : 'active',
    machineFingerprint: seat.machineFingerprint,
    ...(seat.machineLabel !== '' && { machineLabel: seat.machineLabel }),
    ...(seat.appVersion !== '' && { appVersion: seat.appVersion }),
    activatedAt: rfc3339(requireField(seat.activatedAt, 'activation time')),
    ...(seat.lastSeenAt && { lastSeenAt: rfc3339(seat.lastSeenAt) }),
    ...(seat.releasedAt && { releasedAt: rfc3339(seat.releasedAt) }),
  };
}

export const SEAT_COLUMNS: readonly Column<SeatView>[] = [
  { title: 'SEAT', cell: (seat) => seat.seatId },
  { title: 'STATE', cell: (seat) => seat.state },
  { title: 'MACHINE', cell: (seat) => seat.machineLabel },
  { title: 'VERSION', cell: (seat) => seat.appVersion },
  { title: 'ACTIVATED', cell: (seat) => shortTime(seat.activatedAt) },
  { title: 'LAST SEEN', cell: (seat) => shortTime(seat.lastSeenAt) },
  { title: 'FINGERPRINT', cell: (seat) => seat.machineFingerprint },
];

export const SEAT_FIELDS: readonly Column<SeatView>[] = [
  { title: 'Seat', cell: (seat) => seat.seatId },
  { title: 'License', cell: (seat) => seat.licenseId },
  { title: 'State', cell: (seat) => seat.state },
  { title: 'Machine', cell: (seat) => seat.machineLabel },
  { title: 'Fingerprint', cell: (seat) => seat.machineFingerprint },
  { title: 'Version', cell: (seat) => seat.appVersion },
  { title: 'Activated', cell: (seat) => shortTime(seat.activatedAt) },
  { title: 'Last seen', cell: (seat) => shortTime(seat.lastSeenAt) },
  { title: 'Released', cell: (seat) => shortTime(seat.releasedAt) },
];
