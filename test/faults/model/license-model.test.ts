// Random interleavings of everything that changes a license, over two hubs, against a model.
import { randomUUID } from 'node:crypto';
import { type Client, ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import fc from 'fast-check';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { ErrorDetailSchema } from '../../../gen/hub/error/v1/error_pb.ts';
import { LicenseService } from '../../../gen/hub/license/v1/license_service_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense, miscounted } from '../../support/hub/license.ts';
import { IS_LONG } from '../../support/long.ts';
import { LicenseModel } from './license-model.ts';

const RUNS = IS_LONG ? 100 : 10;
const MACHINES = ['a', 'b', 'c', 'd', 'e'];

const machine = fc.constantFrom(...MACHINES);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('activate' as const), machine }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('deactivate' as const), machine }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('activateAll' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('activateOldKey' as const), machine }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('activateDuringRekey' as const), machine }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('update' as const), seatLimit: fc.integer({ min: 1, max: 5 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('renew' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('suspend' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('resume' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('rekey' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('transfer' as const), to: fc.nat({ max: 1 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('erase' as const), whom: fc.nat({ max: 1 }) }) },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Plan = readonly { readonly step: Step; readonly atSecond: boolean }[];

describe('a license under random changes at two hubs', function () {
  this.timeout(300_000);
  let hubs: [TestHub, TestHub];
  before(async () => {
    const first = await startHub();
    hubs = [first, await startHub({ beside: first })];
  });
  after(async () => {
    await hubs[1].stop();
    await hubs[0].stop();
  });

  it('has the seats, the version and the key of the model', async () => {
    const plans = fc.array(fc.record({ step, atSecond: fc.boolean() }), { minLength: 10, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(plans, (plan) => runPlan(hubs, plan)),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect(await miscounted(hubs[0].databaseUrl)).to.deep.equal([]);
  });
});

type Side = { readonly hub: TestHub; readonly machines: Client<typeof LicenseService> };

/** One license, the keys of its generations, and its two possible customers. */
type Scene = {
  readonly model: LicenseModel;
  readonly licenseId: string;
  readonly keys: string[];
  readonly customerIds: readonly string[];
};

async function runPlan(hubs: readonly [TestHub, TestHub], plan: Plan): Promise<void> {
  const [one, two] = hubs.map((hub) => ({ hub, machines: createClient(LicenseService, hub.transport) }));
  if (one === undefined || two === undefined) throw new Error('there are two hubs');
  const scene = await makeScene(one.hub);
  for (const { step: next, atSecond } of plan) {
    await runStep(next, atSecond ? [two, one] : [one, two], scene);
    const { license } = await one.hub.admin.getLicense({ licenseId: scene.licenseId });
    expect(license?.seats?.used, JSON.stringify(next)).to.equal(scene.model.seats);
    expect(license?.termsVersion, JSON.stringify(next)).to.equal(scene.model.termsVersion);
    expect(license?.keyGeneration, JSON.stringify(next)).to.equal(scene.model.generation);
  }
}

async function makeScene({ admin, transport }: TestHub): Promise<Scene> {
  const expiresAt = { seconds: BigInt(Math.floor(Date.now() / 1000)) + 86_400n, nanos: 0 };
  const app = await createApp(admin);
  const { licenseId, licenseKey } = await issueLicense(admin, { app, seatLimit: 3, expiresAt });
  const customers = createClient(CustomerService, transport);
  const made = await Promise.all([1, 2].map(() => customers.createCustomer({ name: randomUUID() })));
  const customerIds = made.map(({ customer }) => customer?.customerId ?? '');
  return { model: new LicenseModel(3), licenseId, keys: [licenseKey], customerIds };
}

async function runStep(next: Step, [near, far]: readonly [Side, Side], scene: Scene): Promise<void> {
  const { model, licenseId, keys, customerIds } = scene;
  const { admin } = near.hub;
  const licenseKey = keys.at(-1) ?? '';
  switch (next.kind) {
    case 'activate': {
      const outcome = await activate(near, licenseKey, next.machine);
      return void expect(outcome).to.equal(model.activate(next.machine, model.generation));
    }
    case 'deactivate': {
      const request = { licenseKey, machineFingerprint: next.machine };
      const outcome = await outcomeOf(near.machines.deactivate(request), ({ released }) =>
        released ? 'released' : 'released before',
      );
      return void expect(outcome).to.equal(model.deactivate(next.machine));
    }
    case 'activateAll':
      return activateAll([near, far], scene);
    case 'activateOldKey': {
      const outcomes = await Promise.all(keys.slice(0, -1).map((old) => activate(near, old, next.machine)));
      return void expect(outcomes).to.deep.equal(outcomes.map(() => 'license_key_unknown'));
    }
    case 'activateDuringRekey':
      return activateDuringRekey(next.machine, [near, far], scene);
    case 'update': {
      const request = { licenseId, updateMask: { paths: ['seat_limit'] }, seatLimit: next.seatLimit };
      model.update(next.seatLimit);
      const { seatsOverLimit } = await admin.updateLicense(request);
      return void expect(seatsOverLimit).to.equal(model.seatsOverLimit);
    }
    case 'renew': {
      const request = {
        licenseId,
        extension: { case: 'by', value: { months: 1 } },
        idempotencyKey: randomUUID(),
      } as const;
      // A client that repeats its request at another hub.
      await Promise.all([admin.renewLicense(request), far.hub.admin.renewLicense(request)]);
      return model.renew();
    }
    case 'suspend':
      await admin.suspendLicense({ licenseId, reason: 'test' });
      return model.suspend(true);
    case 'resume':
      await admin.resumeLicense({ licenseId });
      return model.suspend(false);
    case 'rekey':
      keys.push((await admin.rekeyLicense({ licenseId })).licenseKey);
      return model.rekey();
    case 'transfer': {
      const customerId = customerIds[next.to] ?? '';
      const outcome = await outcomeOf(admin.transferLicense({ licenseId, customerId }), () => 'ok');
      return void expect(outcome).to.equal(model.transfer(customerId));
    }
    case 'erase': {
      const customerId = customerIds[next.whom] ?? '';
      await createClient(CustomerService, near.hub.transport).eraseCustomer({ customerId });
      return model.erase(customerId);
    }
  }
}

/** All machines at once, over both hubs: which of them get a seat is open, how many is not. */
async function activateAll(sides: readonly [Side, Side], { model, keys }: Scene): Promise<void> {
  const licenseKey = keys.at(-1) ?? '';
  const outcomes = await Promise.all(
    MACHINES.map((name, index) => activate(sides[index % 2 === 0 ? 0 : 1], licenseKey, name)),
  );
  const byOutcome = MACHINES.map((name, index) => ({ name, outcome: outcomes[index] }));
  // The model takes those first that the hub has seated.
  const inOrder = byOutcome.sort(
    (one, other) => Number(other.outcome === 'ok') - Number(one.outcome === 'ok'),
  );
  for (const { name, outcome } of inOrder)
    expect(outcome, name).to.equal(model.activate(name, model.generation));
}

/** An activation with the old key beside a re-key happens before it, or not at all. */
async function activateDuringRekey(
  name: string,
  [near, far]: readonly [Side, Side],
  scene: Scene,
): Promise<void> {
  const { model, licenseId, keys } = scene;
  const old = keys.at(-1) ?? '';
  const [outcome, { licenseKey }] = await Promise.all([
    activate(near, old, name),
    far.hub.admin.rekeyLicense({ licenseId }),
  ]);
  if (outcome !== 'license_key_unknown') expect(outcome).to.equal(model.activate(name, model.generation));
  keys.push(licenseKey);
  model.rekey();
  expect(await activate(near, old, name)).to.equal('license_key_unknown');
}

function activate({ machines }: Side, licenseKey: string, machineFingerprint: string): Promise<string> {
  return outcomeOf(machines.activate({ licenseKey, machineFingerprint }), () => 'ok');
}

/** What a call answers, or the code of its error. */
async function outcomeOf<T>(call: Promise<T>, read: (answer: T) => string): Promise<string> {
  try {
    return read(await call);
  } catch (error) {
    const code = ConnectError.from(error).findDetails(ErrorDetailSchema)[0]?.code;
    if (code === undefined) throw error;
    return code;
  }
}
