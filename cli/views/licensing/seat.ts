// JSON schema and columns of seats.
import type { Seat } from '../../../gen/hub/license/v1/license_pb.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import * as json from '../schema.ts';

export const SEAT = json.view('Seat', 'hub.license.v1.Seat', {
  seatId: json.id('seat'),
  licenseId: json.id('lic'),
  state: json.oneOf(['active', 'released'], 'whether it is taken'),
  machineFingerprint: json.text(),
  machineLabel: json.optional(json.text('label of the machine')),
  appVersion: json.optional(json.text('version of the application at its last activation')),
  activatedAt: json.time(),
  lastSeenAt: json.optional(json.time()),
  releasedAt: json.optional(json.time('when it was released')),
});
export type SeatView = json.ValueOf<typeof SEAT>;

export const seatView = (seat: Seat | undefined): SeatView =>
  json.viewOf(SEAT, seat, { state: seat?.releasedAt ? 'released' : 'active' });

export const SEAT_FIELDS: readonly Column<SeatView>[] = [
  ...columnsOf(SEAT, 'seatId', 'licenseId', 'state', { machineLabel: 'Machine' }),
  ...columnsOf(SEAT, { machineFingerprint: 'Fingerprint', appVersion: 'Version' }, 'activatedAt'),
  ...columnsOf(SEAT, 'lastSeenAt', 'releasedAt'),
];

export const SEAT_COLUMNS: readonly Column<SeatView>[] = pick(
  SEAT_FIELDS,
  'Seat',
  'State',
  'Machine',
  'Version',
  'Activated',
  'Last seen',
  'Fingerprint',
);
