// Lists the drivers of all gateways.
import { HubError } from '../../errors.ts';
import type { PaymentDriver } from './driver.ts';
import { gatewayOne } from './gateway-one/driver.ts';
import { gatewayTwo } from './gateway-two/driver.ts';
import { stripe } from './stripe/driver.ts';

export const DRIVERS: readonly PaymentDriver[] = [gatewayOne, gatewayTwo, stripe];

const byGateway = new Map(DRIVERS.map((driver) => [driver.gateway, driver]));

/** @throws HubError `gateway_unknown` */
export function driverOf(gateway: string): PaymentDriver {
  const driver = byGateway.get(gateway);
  if (driver !== undefined) return driver;
  throw new HubError(
    'gateway_unknown',
    `unknown gateway; the gateways are ${[...byGateway.keys()].join(', ')}`,
    { field: 'gateway' },
  );
}
