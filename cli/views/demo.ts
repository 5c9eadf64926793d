// A running demo as hubctl prints it.
import { described, id, integer, type Of, object, text } from '../shapes.ts';
import { BY_GATEWAY } from './gateway.ts';

export const DEMO = object('Demo', {
  gateway: text('address of the public gateway'),
  rpc: text('address of the internal port'),
  token: text('an admin token for it'),
  app: text('slug of the app'),
  licenseId: id('lic', 'a license of it'),
  licenseKey: text('the key of the license'),
  seats: integer('seats of the license'),
  slots: described(BY_GATEWAY, 'names of the payment slots'),
  simulator: text('address of the simulated payment providers'),
});
export type DemoReport = Of<typeof DEMO>;
