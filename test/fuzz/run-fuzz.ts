// Fuzzes a hub in rounds and reports the results. The seed of a round is enough to repeat it.
import type { DescMethod } from '@bufbuild/protobuf';
import { createRouterTransport } from '@connectrpc/connect';
import fc from 'fast-check';
import { gatewayRoutes } from '../../gateway/routes/all-routes.ts';
import { contractServices } from '../core/access/contract-services.ts';
import { activate } from '../support/network/rest.ts';
import { type Fixture, startFixture } from './fixture.ts';
import { byteInputs } from './inputs/byte-inputs.ts';
import { type Input, inputText } from './inputs/input.ts';
import { restInputs } from './inputs/rest-inputs.ts';
import { rpcInputs } from './inputs/rpc-inputs.ts';
import { brokenInvariants } from './invariants.ts';
import { isGranted, judge } from './judge.ts';
import { createLogReader } from './log-reader.ts';
import { makeRound, type Round } from './round.ts';
import { createSender, type Sender } from './send.ts';

export type FuzzRun = {
  readonly runs: number;
  readonly seed: number;
  /** Receives the seed and the number of inputs of each round before it begins. */
  readonly onRound?: (seed: number, runs: number) => void;
};

export type FuzzReport = {
  readonly inputs: number;
  readonly seconds: number;
  /** By target: the number of inputs, and of those that the hub performed. */
  readonly targets: ReadonlyMap<string, Tally>;
  readonly defects: readonly string[];
};

export type Tally = { sent: number; granted: number };

export const ROUND = 1_000;

/** Stops after the first round with a defect. */
export async function fuzz({ runs, seed, onRound }: FuzzRun): Promise<FuzzReport> {
  const start = performance.now();
  const fixture = await startFixture();
  const sender = createSender({ gateway: fixture.hub.gatewayUrl, rpc: fixture.hub.rpcUrl });
  try {
    const methods = (await contractServices()).flatMap((service) => service.methods);
    const targets = new Map<string, Tally>();
    let [inputs, defects]: [number, string[]] = [0, []];
    for (let index = 0; inputs < runs && defects.length === 0; index++) {
      const size = Math.min(ROUND, runs - inputs);
      onRound?.(seed + index, size);
      defects = await fuzzRound({ fixture, sender, methods, targets, seed: seed + index, size });
      inputs += size;
    }
    return { inputs, targets, defects, seconds: Math.round((performance.now() - start) / 1000) };
  } finally {
    sender.close();
    await fixture.stop();
  }
}

type Setting = {
  readonly fixture: Fixture;
  readonly sender: Sender;
  readonly methods: readonly DescMethod[];
  readonly targets: Map<string, Tally>;
  readonly seed: number;
  readonly size: number;
};

/** Its responses contain the license key that the request names. */
const SHOWS_KEY = 'hub.license.v1.LicenseAdminService/GetLicenseKey';

async function fuzzRound({ fixture, sender, methods, targets, seed, size }: Setting): Promise<string[]> {
  const round = await makeRound(fixture);
  const log = createLogReader(fixture.hub, fixture.secrets);
  const secretsIn = (target: string) => (text: string) => {
    const found = fixture.secrets.found(text);
    return target === SHOWS_KEY ? found.filter((secret) => !round.licenseKeys.includes(secret)) : found;
  };
  const recent: Input[] = [];
  const attempt = async (input: Input): Promise<void> => {
    fc.pre(isAlive(fixture)); // after a crash, the cause is among the recent inputs
    recent.splice(0, recent.length - 4);
    recent.push(input);
    const tally = targets.get(input.target) ?? { sent: 0, granted: 0 };
    targets.set(input.target, tally);
    tally.sent += 1;
    const answer = await sender.send(input);
    if (isGranted(input, answer)) tally.granted += 1;
    const wrong = judge(input, answer, secretsIn(input.target)) ?? log.trouble();
    if (wrong !== undefined) throw new Error(wrong);
  };
  const result = await fc.check(fc.asyncProperty(inputsOf(fixture, methods, round), attempt), {
    seed,
    numRuns: size,
  });
  const found = result.counterexample?.map((input) => `${result.errorInstance}\n${inputText(input)}`) ?? [];
  const late = isAlive(fixture) ? await closingTrouble(fixture, round) : [deathOf(fixture, recent)];
  const logged = log.trouble();
  const defects = [...found, ...late, ...(logged === undefined ? [] : [logged])];
  return defects.map((defect) => `seed ${seed}: ${defect}`);
}

/** Half of the inputs go to the RPCs, half to the gateway, and some bytes to both ports. */
function inputsOf(fixture: Fixture, methods: readonly DescMethod[], round: Round): fc.Arbitrary<Input> {
  const routes = gatewayRoutes(createRouterTransport(() => {}));
  const restPaths = routes.map(({ pattern }) => pattern);
  const rpcPaths = methods.map(({ parent, name }) => `/${parent.typeName}/${name}`);
  return fc.oneof(
    { weight: 9, arbitrary: rpcInputs({ methods, words: round.words, ...fixture.tokens }) },
    { weight: 9, arbitrary: restInputs({ routes, ...round }) },
    { weight: 1, arbitrary: byteInputs('gateway', restPaths) },
    { weight: 1, arbitrary: byteInputs('rpc', rpcPaths) },
  );
}

function isAlive({ hub: { child } }: Fixture): boolean {
  return child.exitCode === null && child.signalCode === null;
}

function deathOf({ hub }: Fixture, recent: readonly Input[]): string {
  return `the hub has ended: ${hub.complaints()}\nthe last inputs were:\n${recent.map(inputText).join('\n\n')}`;
}

/** Checks that the hub still works and that its records are correct. */
async function closingTrouble({ hub, databaseUrl, simulator }: Fixture, { spare }: Round): Promise<string[]> {
  const { status, body } = await activate(hub.gatewayUrl, spare.licenseKey, 'the last machine');
  const broken = await brokenInvariants(databaseUrl, simulator.payments());
  return status === 200
    ? broken
    : [`a plain activation is answered ${status} ${JSON.stringify(body)}`, ...broken];
}
