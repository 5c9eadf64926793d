// The license to try as hubctl prints it.
import { id, integer, type Of, object, text } from '../shapes.ts';
import type { Column } from '../table.ts';

export const DEMO_LICENSE = object('DemoLicense', {
  app: text('slug of the app'),
  licenseId: id('lic', 'the license'),
  licenseKey: text('its key, shown now and never again'),
  seats: integer('seats allowed'),
});
export type DemoLicense = Of<typeof DEMO_LICENSE>;

export const DEMO_LICENSE_FIELDS: readonly Column<DemoLicense>[] = [
  { title: 'License key', cell: (item) => item.licenseKey },
  { title: 'License', cell: (item) => item.licenseId },
  { title: 'App', cell: (item) => item.app },
  { title: 'Seats', cell: (item) => item.seats },
];
