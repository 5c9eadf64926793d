// JSON schemas of a running demo, and of the license that a demo or `app seed` issues.
import { columnsOf } from '../../output/table.ts';
import { BY_GATEWAY } from '../payments/gateway.ts';
import * as json from '../schema.ts';

export const DEMO = json.object('Demo', {
  gateway: json.text('address of the public gateway'),
  rpc: json.text('address of the internal port'),
  token: json.text('an admin token for it'),
  app: json.text('slug of the app'),
  licenseId: json.id('lic', 'a license of it'),
  licenseKey: json.text('the key of the license'),
  seats: json.integer('seats of the license'),
  slots: json.withDescription(BY_GATEWAY, 'names of the payment slots'),
  simulator: json.text('address of the simulated payment providers'),
  offer: json.text('the offer that the shop sells'),
  shop: json.text('address of the shop'),
});
export type DemoReport = json.ValueOf<typeof DEMO>;

export const DEMO_LICENSE = json.object('DemoLicense', {
  app: json.text('slug of the app'),
  licenseId: json.id('lic', 'the license'),
  licenseKey: json.text('its key'),
  seats: json.integer('seats allowed'),
});
export type DemoLicense = json.ValueOf<typeof DEMO_LICENSE>;

export const DEMO_LICENSE_FIELDS = columnsOf(DEMO_LICENSE, 'licenseKey', 'licenseId', 'app', 'seats');
