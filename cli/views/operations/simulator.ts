// JSON schema of a running simulator.
import {
  integer,
  number,
  object,
  optional,
  text,
  type ValueOf,
  withDescription,
} from '../../output/json-schema.ts';
import { BY_GATEWAY } from '../payments/gateway.ts';

const FAULTS = object('FaultPlan', {
  seed: integer('repeats the faults of a run'),
  rate: number('fraction of operations with a fault, from 0 to 1'),
});

const CREDENTIALS = object('SimulatorCredentials', {
  gateway_one: object('Store', { storeId: text(), storePassword: text() }),
  gateway_two: object('Wallet', { username: text(), password: text(), appKey: text(), appSecret: text() }),
  stripe: object('StripeAccount', { secretKey: text(), webhookSecret: text() }),
});

export const SIMULATOR = object('Simulator', {
  url: text('its address'),
  control: text('address of its control interface'),
  gateways: withDescription(BY_GATEWAY, 'base addresses for `slot add`'),
  credentials: withDescription(CREDENTIALS, 'credentials for `slot add`; they protect nothing'),
  credentialsFiles: optional(
    withDescription(BY_GATEWAY, 'the files they were written to, with --credentials-dir'),
  ),
  faults: withDescription(FAULTS, 'the random faults'),
});
export type SimulatorReport = ValueOf<typeof SIMULATOR>;
