// hubctl gateway: the supported payment providers.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { GATEWAY, GATEWAY_COLUMNS, gatewayView } from '../../views/payments/gateway.ts';

export function registerGateway(program: Command, { hub, out }: CommandContext): void {
  const gateway = addNoun(program, 'gateway', 'The payment providers that the hub supports.');

  addVerb(gateway, 'list', {
    summary: 'list the gateways',
    description: 'Lists the supported gateways and the credentials that a slot of each needs.',
    examples: ['hubctl gateway list'],
    prints: { list: GATEWAY },
  }).action(async () => {
    await out.list([(await hub.paymentAdmin.listGateways({})).gateways.map(gatewayView)], GATEWAY_COLUMNS);
  });
}
