// The payment half of the demo: simulated providers, a slot for each, and a fee rule.
import { codeOf } from '../../lib/caught-error.ts';
import type { Hub } from '../connect/connection.ts';
import type { Gateway } from '../simulator/payment.ts';
import { cannotListen } from '../simulator/run-simulator.ts';
import { type Simulator, type SimulatorOptions, startSimulator } from '../simulator/simulator.ts';
import { SLOT_ENVIRONMENTS } from '../views/payments/slot.ts';

/**
 * Starts the simulator and adds a slot for each gateway to the hub. Uses the port of the last run, so that existing slots
 * stay valid; if that port is taken, adds slots for another.
 * @param options `port` undefined: the port of the last run, else 5098, else any free one
 */
export async function startDemoPayments(
  { paymentAdmin }: Pick<Hub, 'paymentAdmin'>,
  { port, ...simulation }: Pick<SimulatorOptions, 'onFault'> & { readonly port: number | undefined },
) {
  const before = (await paymentAdmin.listSlots({})).slots;
  const lastUrl = before.findLast(({ name }) => name.startsWith(SLOT_NAMES.gateway_one))?.baseUrl;
  const lastPort = lastUrl === undefined ? DEFAULT_PORT : Number(new URL(lastUrl).port);
  const simulator = await startOn(simulation, port, lastPort);
  try {
    const slotFor = async (gateway: Gateway): Promise<string> => {
      const baseUrl = simulator.urls[gateway];
      const kept = before.find((slot) => slot.gateway === gateway && slot.baseUrl === baseUrl);
      if (kept !== undefined) return kept.name;
      const wanted = SLOT_NAMES[gateway];
      const isTaken = before.some(({ name }) => name === wanted);
      const name = isTaken ? `${wanted}-${new URL(baseUrl).port}` : wanted;
      const credentials = { ...simulator.credentials[gateway] };
      const environment = SLOT_ENVIRONMENTS.sandbox;
      await paymentAdmin.addSlot({ name, gateway, environment, baseUrl, credentials });
      return name;
    };
    const slots = {
      gateway_one: await slotFor('gateway_one'),
      gateway_two: await slotFor('gateway_two'),
      stripe: await slotFor('stripe'),
    };
    const { rules } = await paymentAdmin.listFeeRules({ includeEnded: true });
    if (rules.length === 0) await paymentAdmin.addFeeRule({ rule: { name: 'processing', basisPoints: 150 } });
    return { simulator, slots };
  } catch (error) {
    await simulator.close();
    throw error;
  }
}

const DEFAULT_PORT = 5098;
const SLOT_NAMES = { gateway_one: 'demo-one', gateway_two: 'demo-two', stripe: 'demo-card' } as const;

/** A requested port must be free; a default one is replaced by any free port. */
async function startOn(
  simulation: SimulatorOptions,
  port: number | undefined,
  guess: number,
): Promise<Simulator> {
  if (port !== undefined) {
    return startSimulator({ ...simulation, port }).catch((error) => {
      throw cannotListen(error, port, '--simulator-port');
    });
  }
  try {
    return await startSimulator({ ...simulation, port: guess });
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE') throw error;
    return startSimulator({ ...simulation, port: 0 });
  }
}
