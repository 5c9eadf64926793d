// A running simulator as hubctl prints it.
import { described, integer, number, type Of, object, optional, text } from '../shapes.ts';
import { BY_GATEWAY } from './gateway.ts';

const FAULTS = object('FaultPlan', {
  seed: integer('repeats the faults of a run'),
  rate: number('share of operations with a fault, from 0 to 1'),
});

const CREDENTIALS = object('SimulatorCredentials', {
  gateway_one: object('Store', { storeId: text(), storePassword: text() }),
  gateway_two: object('Wallet', { username: text(), password: text(), appKey: text(), appSecret: text() }),
});

export const SIMULATOR = object('Simulator', {
  url: text('its address'),
  control: text('address of its control interface'),
  gateways: described(BY_GATEWAY, 'base addresses for `slot add`'),
  credentials: described(CREDENTIALS, 'credentials for `slot add`; they protect nothing'),
  credentialsFiles: optional(described(BY_GATEWAY, 'the files they were written to, with --credentials-dir')),
  faults: described(FAULTS, 'which faults happen by chance'),
});
export type SimulatorReport = Of<typeof SIMULATOR>;
