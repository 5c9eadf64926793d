// docs/adding-a-gateway.md: its example compiles, is registered as it says, and takes a payment.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import type { PaymentDriver } from '../../core/payment/provider.ts';
import {
  json,
  raw,
  type ScriptedProvider,
  startScriptedProvider,
} from '../core/payment/providers/scripted-provider.ts';
import { createTestAccess, question, rejectionOf } from '../core/payment/providers/test-access.ts';
import { codeRows, fencedBlocks, ROOT, readPage } from './markdown.ts';

const PAGE = readPage('docs/adding-a-gateway.md');
const CHECKOUT = fileURLToPath(ROOT);

describe('docs/adding-a-gateway.md', () => {
  let folder: string;
  let driver: PaymentDriver;
  let provider: ScriptedProvider;

  before(async () => {
    folder = await copyWithExample();
    const registry = await import(pathToFileURL(join(folder, 'core/payment/registry.ts')).href);
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

  it('has an example that compiles', async function () {
    this.timeout(60_000);
    const compiler = join(CHECKOUT, 'node_modules/typescript/bin/tsc');
    const complaints = await promisify(execFile)(process.execPath, [compiler, '--noEmit', '-p', folder]).then(
      () => '',
      ({ stdout }) => stdout,
    );
    expect(complaints).to.equal('');
  });

  it('has an example that takes a payment from checkout to receipt', async () => {
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
    const verify = () => driver.verify(access, question());
    expect(await verify()).to.include({ kind: 'paid', gatewayTransactionId: 'R-1' });
    for (const kind of ['mismatch', 'mismatch', 'pending', 'reversed'])
      expect((await verify()).kind).to.equal(kind);
    expect((await rejectionOf(verify())).name).to.equal('ProviderUnavailable');
    expect(access.steps.map(({ operation }) => operation)).to.deep.equal([
      'create',
      ...Array(6).fill('query'),
    ]);

    provider.on('/v1/account', json({ name: 'key-7 Shop' }), raw(401, ''));
    expect(await driver.testCredentials(access)).to.deep.equal({
      detail: 'the provider knows the account *** Shop',
    });
    expect((await rejectionOf(driver.testCredentials(access))).name).to.equal('ProviderRefused');
    await access.http.close();
  });
});

/** The payment room with the example in its place; all other files are links to the checkout's own. */
async function copyWithExample(): Promise<string> {
  const [example = '', registration = ''] = fencedBlocks(PAGE, 'ts');
  const copy = await mkdtemp(join(tmpdir(), 'hub-test-'));
  await mkdir(join(copy, 'core/payment/providers'), { recursive: true });
  for (const place of ['', 'core', 'core/payment', 'core/payment/providers']) {
    const own = new Set(await readdir(join(copy, place)));
    for (const name of await readdir(join(CHECKOUT, place))) {
      const isNeeded =
        place === '' ? name === 'node_modules' || name === 'package.json' : name !== 'registry.ts';
      if (isNeeded && !own.has(name)) await symlink(join(CHECKOUT, place, name), join(copy, place, name));
    }
  }
  await writeFile(join(copy, 'core/payment/providers/gateway-three.ts'), example);
  const registry = await readFile(join(CHECKOUT, 'core/payment/registry.ts'), 'utf8');
  await writeFile(join(copy, 'core/payment/registry.ts'), register(registry, registration));
  const files = ['core/payment/registry.ts', 'core/payment/providers/gateway-three.ts'];
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
