// JSON schema and columns of the demo license.
import { columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';

export const DEMO_LICENSE = json.object('DemoLicense', {
  app: json.text('slug of the app'),
  licenseId: json.id('lic', 'the license'),
  licenseKey: json.text('its key'),
  seats: json.integer('seats allowed'),
});
export type DemoLicense = json.ValueOf<typeof DEMO_LICENSE>;

export const DEMO_LICENSE_FIELDS = columnsOf(DEMO_LICENSE, 'licenseKey', 'licenseId', 'app', 'seats');
