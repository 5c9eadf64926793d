// The gateways this hub knows: one line each.
import { HubError } from '../errors.ts';
import type { PaymentDriver } from './provider.ts';
import { gatewayOne } from './providers/gateway-one.ts';
import { gatewayTwo } from './providers/gateway-two.ts';

export const DRIVERS: readonly PaymentDriver[] = [gatewayOne, gatewayTwo];

const byGateway = new Map(DRIVERS.map((driver) => [driver.gateway, driver]));

/** @throws HubError `gateway_unknown` */
export function driverOf(gateway: string): PaymentDriver {
  const driver = byGateway.get(gateway);
  if (driver !== undefined) return driver;
  throw new HubError(
    'gateway_unknown',
    `no gateway is called so; there are ${[...byGateway.keys()].join(', ')}`,
    {
      field: 'gateway',
    },
  );
}
