// hubctl license key and rekey, and the secrets of keys.
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { activate } from '../../support/network/rest.ts';
import { hubctlHere } from '../run-here.ts';

describe('hubctl license key', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  const run = (...args: string[]) => hubctlHere(args, { HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--output', 'json');
    expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };

  it('shows the key of a license again', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    expect(await json('license', 'key', licenseId)).to.deep.equal({ licenseId, licenseKey });
    expect((await run('license', 'key', licenseId)).stdout).to.contain(licenseKey);
  });

  it('replaces a key with --yes, and keeps the seats', async () => {
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    const unasked = await run('license', 'rekey', licenseId);
    expect(unasked.code).to.equal(2);
    const replaced = await json('license', 'rekey', licenseId, '--yes');
    expect(replaced).to.include({ licenseId, seatsUsed: 1 });
    expect(replaced.licenseKey).to.not.equal(licenseKey);
    expect(await json('license', 'key', licenseId)).to.include({ licenseKey: replaced.licenseKey });
  });

  it('prints the same new key for the same idempotency key, while it is current', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    const line = ['license', 'rekey', licenseId, '--yes', '--idempotency-key', 'TICKET-1'];
    const first = await json(...line);
    expect(await json(...line)).to.deep.equal(first);
    await json('license', 'rekey', licenseId, '--yes');
    const late = await run(...line);
    expect(late.code).to.equal(0);
    expect(late.stderr).to.contain(`hubctl license key ${licenseId}`);
  });

  it('lists and rotates the secrets of keys', async () => {
    const [before] = await json('key', 'list-secrets');
    expect(before)
      .to.include({ active: true })
      .and.to.have.all.keys('keySecretId', 'active', 'licenses', 'createdAt');
    expect((await run('key', 'rotate-secret')).code).to.equal(2);
    const rotated = await json('key', 'rotate-secret', '--yes');
    const secrets = await json('key', 'list-secrets');
    expect(secrets[0]).to.deep.equal(rotated);
    expect(secrets[1]).to.deep.equal({ ...before, active: false });
  });
});
