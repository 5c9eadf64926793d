// JSON schemas and columns of gateways.
import type { Gateway } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import type { Column } from '../../output/table.ts';
import * as json from '../schema.ts';

export const GATEWAY = json.view('Gateway', 'hub.payment.v1.Gateway', {
  gateway: json.text(),
  credentials: json.list(json.text()),
  options: json.map(json.list(json.text()), 'the values of each option, the default first'),
  productionUrls: json.list(json.text()),
});
/** An object with one value for each simulated gateway. */
export const BY_GATEWAY = json.object('ByGateway', {
  gateway_one: json.text('for gateway_one'),
  gateway_two: json.text('for gateway_two'),
  stripe: json.text('for stripe'),
});

export type GatewayView = json.ValueOf<typeof GATEWAY>;

export const gatewayView = (gateway: Gateway): GatewayView =>
  json.viewOf(GATEWAY, gateway, {
    options: Object.fromEntries(gateway.options.map(({ name, values }) => [name, values])),
  });

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
