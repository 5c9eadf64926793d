// docs/adding-a-gateway.md: its example compiles, is registered as it says, and takes a payment.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { PaymentDriver } from '../../core/payment/providers/driver.ts';
import {
  json,
  raw,
  type ScriptedProvider,
  startScriptedProvider,
} from '../core/payment/providers/scripted-provider.ts';
import {
  createTestAccess,
  expectedPayment,
  rejectionOf,
  settledPayment,
  type TestAccess,
} from '../core/payment/providers/test-access.ts';
import { discard, makeDataDir } from '../support/hub/data-dir.ts';
import { spawnHub } from '../support/hub/hub-process.ts';
import { createMigratedDatabase } from '../support/postgres/databases.ts';
import { codeRows, fencedBlocks, ROOT, readPage } from './markdown.ts';

const PAGE = readPage('docs/adding-a-gateway.md');
const CHECKOUT = fileURLToPath(ROOT);

describe('docs/adding-a-gateway.md', () => {
  let folder: string;
  let driver: PaymentDriver;
  let provider: ScriptedProvider;

  before(async () => {
    folder = await copyWithExample();
    const registry = await import(pathToFileURL(join(folder, 'core/payment/providers/registry.ts')).href);
    driver = registry.driverOf('gateway_three');
    provider = await startScriptedProvider();
  });
  after(async () => {
    await provider.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('explains every member of a driver', () => {
    expect(codeRows(PAGE).map(([member]) => member)).to.have.members(Object.keys(driver));
  });

  it('has an example that compiles', async () => {
    const compiler = join(CHECKOUT, 'node_modules/typescript/bin/tsc');
    const complaints = await promisify(execFile)(process.execPath, [compiler, '--noEmit', '-p', folder]).then(
      () => '',
      ({ stdout }) => stdout,
    );
    expect(complaints).to.equal('');
  });

  it('has an example that works in hubctl and the hub without other changes', async () => {
    const program = join(folder, 'cli/hubctl.js');
    const dataDir = await makeDataDir();
    const settings = { HUB_DATA_DIR: dataDir, DATABASE_URL: await createMigratedDatabase() };
    const hub = await spawnHub(settings, undefined, program);
    const hubctl = async (...words: string[]) => {
      const { stdout } = await promisify(execFile)(
        process.execPath,
        [program, ...words, '--output', 'json'],
        { env: { PATH: process.env['PATH'], ...settings } },
      );
      return JSON.parse(stdout);
    };
    const file = join(folder, 'three.json');
    await writeFile(file, '{"apiKey":"key-7"}', { mode: 0o600 });
    const slot = ['three', '--gateway', 'gateway_three', '--environment', 'sandbox'];
    const at = ['--base-url', `${provider.url}/v1`, '--credentials-file', file];
    provider.on('/v1/account', json({ name: 'Shop' }));
    try {
      expect((await hubctl('gateway', 'list')).at(-1)).to.deep.include({
        gateway: 'gateway_three',
        credentials: ['apiKey'],
      });
      expect(await hubctl('slot', 'add', ...slot, ...at)).to.include({ gateway: 'gateway_three' });
      expect(await hubctl('slot', 'test', 'three')).to.include({ ok: true });
      const callback = await fetch(`${hub.gatewayUrl}/v1/webhooks/gateway_three?payment=PAY-7&result=paid`);
      expect([callback.status, await callback.text()]).to.deep.equal([200, 'ok']);
    } finally {
      await hub.stop();
      await discard(dataDir);
    }
  });

  it('has an example that processes a payment from checkout to receipt', async () => {
    const access = createTestAccess({ baseUrl: `${provider.url}/v1`, credentials: { apiKey: 'key-7' } });
    provider.on('/v1/payments', json({ id: 'PAY-1', page: 'https://pay.example/PAY-1' }));
    const checkout = await driver.createCheckout(access, {
      sessionId: 'chs_1',
      merchantTransactionId: '01K7TRANSACTION',
      amount: { minor: 10_000n, currency: 'BDT' },
      callbackUrl: 'https://hub.example/v1/webhooks/gateway_three?session_id=chs_1',
      orderReference: 'ORD-1',
      customer: {},
    });
    expect(checkout).to.deep.equal({ providerPaymentId: 'PAY-1', checkoutUrl: 'https://pay.example/PAY-1' });
    expect(provider.received[0]?.headers.authorization).to.equal('Bearer key-7');

    const claim = driver.readCallback({ payment: 'PAY-1', result: 'paid' });
    expect(claim).to.deep.equal({ outcome: 'paid', status: 'paid', providerPaymentId: 'PAY-1' });

    const paid = {
      state: 'paid',
      reference: '01K7TRANSACTION',
      amount: 100,
      currency: 'BDT',
      receipt: 'R-1',
    };
    provider.on(
      '/v1/payments/PAY-1',
      json(paid),
      json({ ...paid, amount: '10.00' }),
      json({ ...paid, reference: 'X' }),
      json({ ...paid, state: 'open' }),
      json({ ...paid, state: 'refunded' }),
      raw(401, 'key-7'),
    );
    const verify = () => driver.verify(access, expectedPayment());
    expect(await verify()).to.include({ kind: 'paid', gatewayTransactionId: 'R-1' });
    for (const kind of ['mismatch', 'mismatch', 'pending', 'reversed'])
      expect((await verify()).kind).to.equal(kind);
    expect((await rejectionOf(verify())).name).to.equal('ProviderUnavailable');
    expect(access.steps.map(({ operation }) => operation)).to.deep.equal([
      'create',
      ...Array(6).fill('query'),
    ]);

    await refund(access);
    provider.on('/v1/account', json({ name: 'key-7 Shop' }), raw(401, ''));
    expect(await driver.testCredentials(access)).to.deep.equal({
      detail: 'the provider knows the account *** Shop',
    });
    expect((await rejectionOf(driver.testCredentials(access))).name).to.equal('ProviderRefused');
    await access.http.close();
  });

  const refund = async (access: TestAccess): Promise<void> => {
    const { request, find } = driver.refunds ?? {};
    const amount = { minor: 4_000n, currency: 'BDT' };
    const made = { id: 'RF-1', reference: 'rfd_1', amount: '40.00', currency: 'BDT', state: 'done' };
    const found = { kind: 'refund', gatewayRefundId: 'RF-1', reference: 'rfd_1', amount };
    const path = '/v1/payments/PAY-1/refunds';
    provider.on(path, json({ ...made, state: 'open' }), raw(422, ''), json({ refunds: [made] }));
    const asked = { payment: settledPayment(), reference: 'rfd_1', amount, reason: 'Returned' };
    expect(await request?.(access, asked)).to.deep.include({ ...found, state: 'pending' });
    const refusal = request?.(access, asked) ?? Promise.resolve();
    expect((await rejectionOf(refusal)).name).to.equal('ProviderRefused');
    const search = { payment: settledPayment(), requested: [] };
    expect((await find?.(access, search))?.refunds[0]).to.deep.include({ ...found, state: 'succeeded' });
  };
});

/** The hub with the example in its place. */
async function copyWithExample(): Promise<string> {
  const [example = '', registration = ''] = fencedBlocks(PAGE, 'ts');
  const copy = await mkdtemp(join(tmpdir(), 'hub-test-'));
  await symlink(join(CHECKOUT, 'node_modules'), join(copy, 'node_modules'));
  for (const name of ['package.json', 'cli', 'core', 'gateway', 'gen', 'lib']) {
    await cp(join(CHECKOUT, name), join(copy, name), { recursive: true });
  }
  await writeFile(join(copy, 'core/payment/providers/gateway-three.ts'), example);
  const registry = await readFile(join(CHECKOUT, 'core/payment/providers/registry.ts'), 'utf8');
  await writeFile(join(copy, 'core/payment/providers/registry.ts'), register(registry, registration));
  const files = ['core/payment/providers/registry.ts', 'core/payment/providers/gateway-three.ts'];
  const config = { extends: join(CHECKOUT, 'tsconfig.json'), include: [], files };
  await writeFile(join(copy, 'tsconfig.json'), JSON.stringify(config));
  return copy;
}

/** The registry with the two lines of the page: the import added, the list replaced. */
function register(registry: string, registration: string): string {
  const [importLine = '', list = ''] = registration.trim().split('\n');
  const changed = registry.replace(/^export const DRIVERS.*$/m, () => list);
  expect(changed, 'the page replaces a line of the registry').to.not.equal(registry);
  return `${importLine}\n${changed}`;
}
