// JSON schema of a running simulator.
import { BY_GATEWAY } from '../payments/gateway.ts';
import * as json from '../schema.ts';

const FAULTS = json.object('FaultPlan', {
  seed: json.integer('repeats the faults of a run'),
  rate: json.number('fraction of operations with a fault, from 0 to 1'),
});

const CREDENTIALS = json.object('SimulatorCredentials', {
  gateway_one: json.object('Store', { storeId: json.text(), storePassword: json.text() }),
  gateway_two: json.object('Wallet', {
    username: json.text(),
    password: json.text(),
    appKey: json.text(),
    appSecret: json.text(),
  }),
  stripe: json.object('StripeAccount', { secretKey: json.text(), webhookSecret: json.text() }),
});

export const SIMULATOR = json.object('Simulator', {
  url: json.text('its address'),
  control: json.text('address of its control interface'),
  gateways: json.withDescription(BY_GATEWAY, 'base addresses for `slot add`'),
  credentials: json.withDescription(CREDENTIALS, 'credentials for `slot add`; they protect nothing'),
  credentialsFiles: json.optional(
    json.withDescription(BY_GATEWAY, 'the files they were written to, with --credentials-dir'),
  ),
  faults: json.withDescription(FAULTS, 'the random faults'),
});
export type SimulatorReport = json.ValueOf<typeof SIMULATOR>;
