// Customers who order and pay, one order at a time. The provider repeats callbacks until a hub answers.
import { setTimeout as pause } from 'node:timers/promises';
import { GATEWAYS } from '../../support/hub/payment.ts';
import type { Cluster } from '../scenes/cluster.ts';
import { createSession } from './payment-fixture.ts';

export type PaymentLoad = {
  /** The number of paid orders so far. */
  paid(): number;
  /** Resolves when the last order is paid. */
  stop(): Promise<void>;
};

const CUSTOMERS = 2;
const PAUSE_MS = 100;

export function startPaymentLoad(cluster: Cluster): PaymentLoad {
  let turn = 0;
  let paid = 0;
  const stopping = { now: false };
  const shop = async (): Promise<void> => {
    while (!stopping.now) {
      await pause(PAUSE_MS);
      const gateway = GATEWAYS[turn % GATEWAYS.length] ?? 'gateway_one';
      const session = await createSession(cluster, { gateway, minor: 10_000 + turn }, turn++);
      cluster.simulator.pay(session.providerPaymentId);
      paid += 1;
    }
  };
  const customers = Array.from({ length: CUSTOMERS }, shop);
  for (const customer of customers) customer.catch(() => {}); // stop() reports the error
  return {
    paid: () => paid,
    async stop() {
      stopping.now = true;
      await Promise.all(customers);
    },
  };
}
