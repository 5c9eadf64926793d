// JSON schema and columns of the demo license.
import { id, integer, object, text, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';

export const DEMO_LICENSE = object('DemoLicense', {
  app: text('slug of the app'),
  licenseId: id('lic', 'the license'),
  licenseKey: text('its key'),
  seats: integer('seats allowed'),
});
export type DemoLicense = ValueOf<typeof DEMO_LICENSE>;

export const DEMO_LICENSE_FIELDS: readonly Column<DemoLicense>[] = [
  { title: 'License key', cell: (item) => item.licenseKey },
  { title: 'License', cell: (item) => item.licenseId },
  { title: 'App', cell: (item) => item.app },
  { title: 'Seats', cell: (item) => item.seats },
];
