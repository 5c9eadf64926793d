// JSON schema and columns of the demo license.
import type { Column } from '../../output/table.ts';
import * as json from '../schema.ts';

export const DEMO_LICENSE = json.object('DemoLicense', {
  app: json.text('slug of the app'),
  licenseId: json.id('lic', 'the license'),
  licenseKey: json.text('its key'),
  seats: json.integer('seats allowed'),
});
export type DemoLicense = json.ValueOf<typeof DEMO_LICENSE>;

export const DEMO_LICENSE_FIELDS: readonly Column<DemoLicense>[] = [
  { title: 'License key', cell: (item) => item.licenseKey },
  { title: 'License', cell: (item) => item.licenseId },
  { title: 'App', cell: (item) => item.app },
  { title: 'Seats', cell: (item) => item.seats },
];
