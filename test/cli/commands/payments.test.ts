// The payment commands, run as a person would against a hub and simulated providers.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import { DRIVERS } from '../../../core/payment/providers/registry.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type ChargeSession, ChargeStatus, SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { callBack, callbackFields } from '../../support/hub/payment.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { hubctlHere, type Printed } from '../run-here.ts';
import { ended, start } from '../spawn-hubctl.ts';

describe('hubctl with a hub and payment providers', () => {
  let hub: TestHub;
  let simulator: Simulator;
  let payments: Client<typeof PaymentService>;
  let admin: Client<typeof PaymentAdminService>;
  let credentialsFile: string;
  const env = () => ({ HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const run = (...args: string[]): Promise<Printed> => hubctlHere(args, env());
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--output', 'json');
    expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };
  const uniqueName = (noun: string) => `${noun}-${randomUUID().slice(0, 8)}`;
  /** A slot of its own for a test. */
  const addSlot = async (): Promise<string> => {
    const name = uniqueName('slot');
    await admin.addSlot({
      name,
      gateway: 'gateway_one',
      environment: SlotEnvironment.SANDBOX,
      baseUrl: simulator.urls.gateway_one,
      credentials: { ...simulator.credentials.gateway_one },
    });
    return name;
  };
  const createSession = async (slot: string): Promise<ChargeSession> => {
    const amount = { minorUnits: 10_000n, currency: 'BDT' };
    const { session } = await payments.createChargeSession({ slot, amount, orderReference: 'ORD-1' });
    return session ?? expect.fail('no session was created');
  };
  /** A session that was paid, known to be so by the hub. */
  const paidSession = async (slot: string): Promise<ChargeSession> => {
    const created = await createSession(slot);
    const { sessionId } = created;
    await simulator.pay(created.providerPaymentId);
    const isPaid = async () =>
      (await payments.getChargeSession({ sessionId })).session?.status === ChargeStatus.SUCCESS;
    await until(isPaid, 'the session is paid');
    return created;
  };

  before(async () => {
    [hub, simulator] = await Promise.all([startHub(), startSimulator({ port: 0 })]);
    payments = createClient(PaymentService, hub.transport);
    admin = createClient(PaymentAdminService, hub.transport);
    credentialsFile = join(hub.dataDir, 'one.json');
    await writeFile(credentialsFile, JSON.stringify(simulator.credentials.gateway_one), { mode: 0o600 });
  });
  after(async () => {
    await hub?.stop();
    await simulator?.close();
  });

  it('adds, shows, disables and enables a slot, and never shows its credentials', async () => {
    const name = uniqueName('slot');
    const at = ['--environment', 'sandbox', '--base-url', simulator.urls.gateway_one];
    const words = [name, '--gateway', 'gateway_one', ...at, '--credentials-file', credentialsFile];
    const added = await json('slot', 'add', ...words);
    const shown = await json('slot', 'show', name);
    expect(shown)
      .to.deep.equal(added)
      .and.include({ name, gateway: 'gateway_one', environment: 'sandbox', disabled: false });
    expect((await json('slot', 'disable', name)).disabled).to.equal(true);
    const refused = await run('session', 'create', '--slot', name, '--amount', '1', '--currency', 'BDT');
    expect(refused).to.include({ code: 1, stdout: '' });
    expect((await json('slot', 'enable', name)).disabled).to.equal(false);
    const again = await run('slot', 'enable', name);
    expect(again).to.include({ code: 0, stderr: 'Nothing changed: the slot is already enabled.\n' });
    const all = await run('slot', 'list');
    expect(all.stdout).to.contain(name).and.not.to.contain(simulator.credentials.gateway_one.storePassword);
    expect(JSON.stringify(shown)).not.to.contain(simulator.credentials.gateway_one.storePassword);
  });

  it('sets, replaces and removes the origins of shops to which customers may return', async () => {
    const name = uniqueName('slot');
    const at = ['--environment', 'sandbox', '--base-url', simulator.urls.gateway_one];
    const words = [name, '--gateway', 'gateway_one', ...at, '--credentials-file', credentialsFile];
    const shops = ['https://shop.example.com', 'http://localhost:3000'];
    const origins = shops.flatMap((shop) => ['--return-origin', shop]);
    expect((await json('slot', 'add', ...words, ...origins)).returnOrigins).to.deep.equal(shops);
    expect((await run('slot', 'show', name)).stdout).to.contain(shops.join(', '));
    const other = 'https://other.example.com';
    const replaced = await json('slot', 'update', name, '--return-origin', other);
    expect(replaced.returnOrigins).to.deep.equal([other]);
    expect((await json('slot', 'update', name, '--hold-risky')).returnOrigins).to.deep.equal([other]);
    const refused = await run('slot', 'update', name, '--return-origin', `${other}/paid`);
    expect(refused).to.include({ code: 2, stdout: '' });
    expect(refused.stderr).to.contain(
      `write only scheme, host and port, without a slash at the end: ${other}`,
    );
    expect((await json('slot', 'update', name, '--no-return-origin')).returnOrigins).to.deep.equal([]);
  });

  it('tests the credentials of a slot, and replaces them from standard input', async () => {
    const name = await addSlot();
    expect(await json('slot', 'test', name)).to.include({ slot: name, ok: true });

    const wrong = join(hub.dataDir, 'wrong.json');
    await writeFile(wrong, '{"storeId":"store","storePassword":"CANARY"}', { mode: 0o600 });
    await json('slot', 'rotate', name, '--credentials-file', wrong);
    const failed = await run('slot', 'test', name);
    expect(failed).to.include({ code: 1 });
    expect(failed.stdout).to.contain('do not work');
    expect(failed.stdout + failed.stderr).not.to.contain('CANARY');

    const rotate = start(['slot', 'rotate', name, '--credentials-file', '-'], env(), 'pipe');
    rotate.stdin?.end(JSON.stringify(simulator.credentials.gateway_one));
    expect(await ended(rotate)).to.include({
      code: 0,
      stderr: `Test them with: hubctl slot test ${name}\n`,
    });
    expect((await json('slot', 'test', name)).ok).to.equal(true);
  });

  it('creates a session once for an idempotency key, with customer and metadata', async () => {
    const slot = await addSlot();
    const customer = [
      '--customer-name',
      'Ada',
      '--customer-email',
      'ada@example.com',
      '--customer-phone',
      '017',
    ];
    const charge = [
      '--slot',
      slot,
      '--amount',
      '100.00',
      '--currency',
      'BDT',
      '--order',
      'ORD-1',
      ...customer,
    ];
    const more = ['--metadata', 'a=x=y', '--metadata', 'b=', '--idempotency-key', randomUUID()];
    const create = () => json('session', 'create', ...charge, ...more);
    const session = await create();
    expect(session.sessionId).to.match(/^chs_[0-9a-z]{26}$/);
    expect(session).to.deep.include({
      status: 'pending',
      amount: '100.00',
      minorUnits: 10_000,
      currency: 'BDT',
      orderReference: 'ORD-1',
      customer: { name: 'Ada', email: 'ada@example.com', phone: '017' },
      metadata: { a: 'x=y', b: '' },
    });
    expect(session.checkoutUrl).to.contain(simulator.url);
    expect(session.merchantTransactionId).to.match(/^\w{1,30}$/);
    expect(session.providerPaymentId).not.to.equal('');
    expect((await create()).sessionId).to.equal(session.sessionId);
  });

  it('refuses an amount with too many decimals without a request', async () => {
    const { code, stderr } = await run(
      'session',
      'create',
      '--slot',
      'x',
      '--amount',
      '1.005',
      '--currency',
      'BDT',
    );
    expect(code).to.equal(2);
    expect(stderr).to.equal('hubctl: --amount: BDT has only 2 digits after the decimal point.\n');
  });

  it('filters sessions by slot, status, order and time', async () => {
    const slot = await addSlot();
    const paid = await paidSession(slot);
    const pending = await createSession(slot);
    const found = async (...filter: string[]) =>
      (await json('session', 'list', '--slot', slot, ...filter)).map(
        ({ sessionId }: { sessionId: string }) => sessionId,
      );
    expect(await found()).to.deep.equal([pending.sessionId, paid.sessionId]);
    expect(await found('--status', 'success')).to.deep.equal([paid.sessionId]);
    expect(await found('--order', 'ORD-2')).to.deep.equal([]);
    const { createdAt } = await json('session', 'inspect', pending.sessionId);
    expect(await found('--to', createdAt)).to.deep.equal([paid.sessionId]);
    expect(await found('--from', createdAt)).to.deep.equal([pending.sessionId]);
    expect(await found('--max', '1')).to.deep.equal([pending.sessionId]);
  });

  it('watches a session until it is final', async () => {
    const session = await createSession(await addSlot());
    const words = ['session', 'watch', session.sessionId, '--until-final', '--output', 'json'];
    const watching = start(words, env());
    let first = '';
    watching.stdout?.once('data', (chunk: Buffer) => {
      first = String(chunk);
    });
    const rest = text(watching.stdout ?? expect.fail('there is no output'));
    await until(() => first !== '', 'the watch shows the current session');
    expectPrinted('session watch', JSON.parse(first));
    expect(JSON.parse(first)).to.include({ sessionId: session.sessionId, status: 'pending' });
    await simulator.pay(session.providerPaymentId);
    const lines = (await rest).trimEnd().split('\n').slice(-1);
    expect(lines.map((line) => JSON.parse(line).status)).to.deep.equal(['success']);
  });

  it('does not treat a status from a callback alone as final', async () => {
    const session = await createSession(await addSlot());
    const watching = start(['session', 'watch', session.sessionId, '--until-final'], env());
    let printed = '';
    watching.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk;
    });
    await until(() => printed.includes('pending'), 'the watch shows the current session');
    await callBack(hub.gatewayUrl, 'gateway_one', callbackFields(session, 'cancelled'));
    const claimed = 'a callback said CANCELLED (the provider has not confirmed it)';
    await until(() => printed.includes(claimed), 'the watch shows the claim');
    await simulator.pay(session.providerPaymentId);
    expect(await ended(watching)).to.include({ code: 0 });
    expect(printed.trimEnd().split('\n').at(-1)).to.match(/ success .*[^)]$/);
  });

  it('lists what a slot of each gateway requires', async () => {
    const wanted = DRIVERS.map(({ gateway, credentials, options, productionUrls }) => ({
      gateway,
      credentials,
      options,
      productionUrls,
    }));
    expect(await json('gateway', 'list')).to.deep.equal(wanted);
  });

  it('shows the history of a paid session with its callback, the answer, the usage log and the fees', async () => {
    const slot = await addSlot();
    const rule = uniqueName('rule');
    await json(
      'fee',
      'add',
      rule,
      '--slot',
      slot,
      '--percent',
      '1.5',
      '--currency',
      'BDT',
      '--fixed',
      '0.50',
    );
    const { sessionId } = await paidSession(slot);
    const history = await json('session', 'inspect', sessionId);
    const quoted = await run('session', 'inspect', history.merchantTransactionId);
    expect(quoted.stderr, 'a transaction id as providers quote it').to.contain(
      `the id is spelled ${sessionId}`,
    );
    expect(history.callbacks[0]).to.include({ state: 'settled', sessionId });
    expect(history.verifications.at(-1)).to.include({ operation: 'validate', outcome: 'paid' });
    expect(history.usageLog).to.include({ sessionId, slot, amount: '100.00', minorUnits: 10_000 });
    expect(history.fees).to.deep.equal(history.usageLog.fees);
    expect(history.fees).to.deep.include({
      rule,
      ruleVersion: 1,
      amount: '2.00',
      minorUnits: 200,
      currency: 'BDT',
    });
    const { stdout } = await run('session', 'inspect', sessionId);
    const told = stdout.slice(stdout.indexOf('TIME'));
    expect(told).to.match(
      /created.*\n.*request: initiate.*\n.*callback.*\n.*request: validate.*\n.*success.*\n.*usage log(?:.|\n)*2\.00 BDT by rule/,
    );
  });

  it('holds a risky payment for review, and releases it', async () => {
    const name = uniqueName('slot');
    const at = ['--environment', 'sandbox', '--base-url', simulator.urls.gateway_one];
    const words = [name, '--gateway', 'gateway_one', ...at, '--credentials-file', credentialsFile];
    expect((await json('slot', 'add', ...words, '--hold-risky')).options).to.deep.equal({
      riskyPayments: 'hold',
    });
    const { sessionId, providerPaymentId: ref } = await createSession(name);
    for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const)
      simulator.faults.add({ kind: 'risky', operation, ref, times: 100 });
    await simulator.pay(ref);
    const listed = ['session', 'list', '--slot', name, '--held'];
    await until(async () => (await json(...listed)).length === 1, 'the session is held');
    const [held] = await json(...listed);
    expect(held).to.include({ sessionId, status: 'pending', riskLevel: 1, riskTitle: 'High Risk' });
    expect(held.statusReason).to.contain('held for review');
    expect((await run(...listed)).stdout).to.contain('pending (held)');
    expect((await run('session', 'inspect', sessionId)).stdout).to.match(/^Risk +1 \(High Risk\)$/m);

    const release = ['session', 'release', sessionId, '--reason', 'customer known'];
    const unasked = await run(...release);
    expect(unasked).to.include({ code: 2, stdout: '' });
    expect(unasked.stderr).to.contain('--yes');
    const released = await json(...release, '--yes');
    expect(released).to.include({ sessionId, status: 'success', riskLevel: 1 });
    expect(released).to.have.property('releasedAt');
    expect((await run(...release, '--yes')).stderr).to.contain('Nothing changed');
    expect(await json(...listed)).to.deep.equal([]);
    const { sessionId: other } = await createSession(name);
    const refused = await run('session', 'release', other, '--reason', 'why', '--yes');
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.contain('no payment of the session is held for review');

    expect((await json('slot', 'update', name, '--no-hold-risky')).options).to.deep.equal({
      riskyPayments: 'settle',
    });
    const again = await run('slot', 'update', name, '--no-hold-risky');
    expect(again).to.include({ code: 0, stderr: 'Nothing changed: the slot already has these options.\n' });
    expect(await run('slot', 'update', name)).to.include({ code: 2, stdout: '' });
    const torn = await run('slot', 'update', name, '--hold-risky', '--option', 'riskyPayments=settle');
    expect(torn).to.include({ code: 2, stdout: '' });
  });

  it('rechecks a session, and lists, shows and replays its callback', async () => {
    const { sessionId } = await paidSession(await addSlot());
    const rechecked = await json('session', 'recheck', sessionId);
    expect(rechecked).to.include({ sessionId, status: 'success' });
    expect(rechecked.verification).to.include({ operation: 'query', outcome: 'paid' });

    const [callback, ...others] = await json(
      'callback',
      'list',
      '--session',
      sessionId,
      '--state',
      'settled',
    );
    expect(others).to.deep.equal([]);
    const shown = await json('callback', 'show', callback.callbackId);
    expect(shown.fields).to.include({ status: 'VALID' });
    expect(shown.verifications).to.have.length.greaterThan(0);
    expect(await json('callback', 'replay', callback.callbackId)).to.include({ state: 'settled' });
    const { stdout: page } = await run('callback', 'show', callback.callbackId);
    expect(page).to.contain('validate');
    expect(page, 'each field on a line of its own').to.match(/^status +VALID$/m);
  });

  it('adds, previews, backtests and retires fee rules', async () => {
    const slot = await addSlot();
    await paidSession(slot);
    const name = uniqueName('rule');
    const rule = await json('fee', 'add', name, '--slot', slot, '--percent', '1.25');
    expect(rule).to.include({ name, slot, version: 1, basisPoints: 125, percent: '1.25' });
    const preview = await json('fee', 'preview', '--slot', slot, '--amount', '100.00', '--currency', 'BDT');
    expect(preview.fees).to.deep.include({
      rule: name,
      ruleVersion: 1,
      amount: '1.25',
      minorUnits: 125,
      currency: 'BDT',
    });
    const terms = ['--currency', 'BDT', '--percent', '1.2', '--fixed', '2.00', '--max-fee', '50.00'];
    const mixed = await run('fee', 'add', uniqueName('mixed'), '--slot', slot, ...terms);
    expect(mixed.stdout).to.contain(' 1.20 % + 2.00 BDT, at most 50.00 BDT\n');
    const period = ['--from', '2020-01-01', '--to', '2099-01-01'];
    const [backtest] = await json('fee', 'backtest', name, '--slot', slot, '--percent', '2', ...period);
    expect(backtest).to.deep.include({
      currency: 'BDT',
      payments: 1,
      difference: { amount: '2.00', minorUnits: 200, currency: 'BDT' },
    });
    expect(await json('fee', 'retire', rule.feeRuleId)).to.have.property('validTo');
    const again = await run('fee', 'retire', rule.feeRuleId);
    expect(again).to.include({ code: 0, stderr: 'Nothing changed: the rule had already ended.\n' });
    const other = [uniqueName('other'), '--slot', slot, '--percent', '1', ...period];
    expect((await run('fee', 'backtest', ...other)).stderr).to.match(/^There is no rule named other-/);
    const named = async (...all: string[]) =>
      (await json('fee', 'list', ...all)).filter((each: { name: string }) => each.name === name);
    expect(await named()).to.deep.equal([]);
    expect(await named('--all')).to.have.length(1);
  });

  it('shows the result of a callback, and that it was replayed', async () => {
    const session = await createSession(await addSlot());
    await callBack(hub.gatewayUrl, 'gateway_one', callbackFields(session, 'failed'));
    const ofSession = ['--session', session.sessionId];
    expect((await run('callback', 'list', ...ofSession)).stdout).to.contain(' settled (failed) ');
    const [{ callbackId, sessionStatus }] = await json('callback', 'list', ...ofSession);
    expect(sessionStatus).to.equal('failed');
    expect((await run('callback', 'replay', callbackId)).stdout).to.match(/^Replayed +\d{4}-/m);
    const { stdout } = await run('session', 'inspect', session.sessionId);
    expect(stdout).to.match(/ failed +a callback said FAILED, by cb_.* has not confirmed it/);
    expect(stdout).to.match(/ replayed +cb_/);
    expect((await json('session', 'inspect', session.sessionId)).statusChanges).to.have.length(1);
  });

  it('names the session that is left without a checkout, and how to create one', async () => {
    const slot = await addSlot();
    simulator.faults.add({ kind: 'error_500', operation: 'gateway_one.initiate' });
    const { code, stderr } = await run(
      'session',
      'create',
      '--slot',
      slot,
      '--amount',
      '1',
      '--currency',
      'BDT',
    );
    expect(code).to.equal(1);
    const [{ sessionId }] = await json('session', 'list', '--slot', slot);
    expect(stderr)
      .to.contain(`slot ${slot}: `)
      .and.contain(` ${sessionId} `)
      .and.contain('--idempotency-key');
    const { stdout } = await run('session', 'inspect', sessionId);
    expect(stdout).to.match(/request: initiate +unavailable after/);
  });

  it('lists the usage log', async () => {
    const slot = await addSlot();
    const { sessionId } = await paidSession(slot);
    expect((await json('usage', 'list', '--slot', slot))[0]).to.include({ sessionId, amount: '100.00' });
    expect((await run('usage', 'export', '--slot', slot)).stdout).to.contain(sessionId);
  });

  it('re-encrypts all secrets with the first master key', async () => {
    expect((await run('masterkey', 'rotate')).stderr).to.contain('when it restarts');
    expect(await json('masterkey', 'rotate'))
      .to.have.all.keys('masterKeyId', 'resealed')
      .and.include({ resealed: 0 });
  });
});
