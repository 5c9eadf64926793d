// JSON schemas and columns of gateways.
import type { Gateway } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { list, map, object, text, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';

export const GATEWAY = object(
  'Gateway',
  {
    gateway: text(),
    credentials: list(text()),
    options: map(list(text()), 'the values of each option, the default first'),
    productionUrls: list(text()),
  },
  { message: 'hub.payment.v1.Gateway' },
);
/** An object with one value for each simulated gateway. */
export const BY_GATEWAY = object('ByGateway', {
  gateway_one: text('for gateway_one'),
  gateway_two: text('for gateway_two'),
  stripe: text('for stripe'),
});

export type GatewayView = ValueOf<typeof GATEWAY>;

export function gatewayView({ gateway, credentials, options, productionUrls }: Gateway): GatewayView {
  const byName = Object.fromEntries(options.map(({ name, values }) => [name, values]));
  return { gateway, credentials, options: byName, productionUrls };
}

export const GATEWAY_COLUMNS: readonly Column<GatewayView>[] = [
  { title: 'GATEWAY', cell: (item) => item.gateway },
  { title: 'CREDENTIALS', cell: (item) => item.credentials.join(', ') },
  { title: 'OPTIONS', cell: optionsText },
  { title: 'PRODUCTION', cell: (item) => item.productionUrls.join(', ') },
];

/** `paymentIdField=paymentId|paymentID` */
function optionsText({ options }: GatewayView): string {
  return Object.entries(options)
    .map(([name, values]) => `${name}=${values.join('|')}`)
    .join(' ');
}
