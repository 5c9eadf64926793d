// JSON schema of a running demo.
import { id, integer, object, text, type ValueOf, withDescription } from '../../output/json-schema.ts';
import { BY_GATEWAY } from '../payments/gateway.ts';

export const DEMO = object('Demo', {
  gateway: text('address of the public gateway'),
  rpc: text('address of the internal port'),
  token: text('an admin token for it'),
  app: text('slug of the app'),
  licenseId: id('lic', 'a license of it'),
  licenseKey: text('the key of the license'),
  seats: integer('seats of the license'),
  slots: withDescription(BY_GATEWAY, 'names of the payment slots'),
  simulator: text('address of the simulated payment providers'),
  offer: text('the offer that the shop sells'),
  shop: text('address of the shop'),
});
export type DemoReport = ValueOf<typeof DEMO>;
