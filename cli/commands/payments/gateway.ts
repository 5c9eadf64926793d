// hubctl gateway: the supported payment providers.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { list } from '../../output/json-schema.ts';
import { GATEWAY, GATEWAY_COLUMNS, gatewayView } from '../../views/payments/gateway.ts';

export function registerGateway(program: Command, { hub, out }: CommandContext): void {
  const gateway = addNoun(program, 'gateway', {
    group: 'Payments:',
    summary: 'kinds of payment providers',
    description: 'The payment providers that the hub supports.',
  });

  addVerb(gateway, 'list', {
    summary: 'list the gateways',
    description: 'Lists the supported gateways and the credentials that a slot of each needs.',
    examples: ['hubctl gateway list'],
    prints: { document: list(GATEWAY) },
  }).action(async () => {
    const { paymentAdmin } = await hub('paymentAdmin');
    await out.list([(await paymentAdmin.listGateways({})).gateways.map(gatewayView)], GATEWAY_COLUMNS);
  });
}
