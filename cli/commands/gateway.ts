// hubctl gateway: the kinds of payment providers.
import type { Command } from 'commander';
import { addNoun, addVerb } from '../manual.ts';
import { list } from '../shapes.ts';
import type { Tools } from '../tools.ts';
import { GATEWAY, GATEWAY_COLUMNS, gatewayView } from '../views/gateway.ts';

export function registerGateway(program: Command, { hub, out }: Tools): void {
  const gateway = addNoun(program, 'gateway', {
    group: 'Payments:',
    summary: 'kinds of payment providers',
    description: 'The kinds of payment providers that the hub knows.',
  });

  addVerb(gateway, 'list', {
    summary: 'list the gateways',
    description: 'Lists the gateways that the hub knows, and what a slot of each needs.',
    examples: ['hubctl gateway list'],
    prints: { document: list(GATEWAY) },
  }).action(async () => {
    const { paymentAdmin } = await hub('paymentAdmin');
    await out.list([(await paymentAdmin.listGateways({})).gateways.map(gatewayView)], GATEWAY_COLUMNS);
  });
}
