// hubctl customer, run as a person would against a hub.
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { hubctlHere, type Printed } from '../run-here.ts';

describe('hubctl customer', () => {
  let hub: TestHub;
  const run = (...args: string[]): Promise<Printed> =>
    hubctlHere(['customer', ...args], { HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const json = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args, '--output', 'json');
    expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };

  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('creates, finds, changes and erases a customer', async () => {
    const given = ['--name', 'Ada Lovelace', '--email', 'ada@example.com', '--external-ref', 'CRM-1'];
    const made = await json('create', ...given, '--metadata', 'plan=gold', '--metadata', 'Big_Tier=1');
    expect(made).to.deep.include({
      name: 'Ada Lovelace',
      email: 'ada@example.com',
      externalRef: 'CRM-1',
      metadata: { plan: 'gold', Big_Tier: '1' },
    });
    expect(await json('list', '--search', 'LOVE')).to.deep.equal({ customers: [made], count: 1 });
    expect(await json('list', '--search', 'nobody')).to.deep.equal({ customers: [], count: 0 });

    const { customerId } = made;
    const changes = [
      '--name',
      'Ada King',
      '--remove-email',
      '--metadata',
      'Big_Tier=2',
      '--remove-metadata',
      'plan',
    ];
    const changed = await json('update', customerId, ...changes);
    expect(changed).to.deep.equal({
      customerId,
      name: 'Ada King',
      externalRef: 'CRM-1',
      metadata: { Big_Tier: '2' },
      createdAt: made.createdAt,
    });
    expect(await json('show', customerId)).to.deep.equal(changed);

    expect(await run('erase', customerId)).to.include({ code: 2, stdout: '' });
    const erased = await json('erase', customerId, '--yes');
    expect(erased).to.include({ customerId, name: '' }).and.have.property('erasedAt');
    expect((await run('list')).stdout).to.contain('(erased)');
  });

  it('says which option is wrong', async () => {
    const { customerId } = await json('create', '--name', 'Taken', '--external-ref', 'CRM-2');
    const taken = await run('create', '--name', 'Other', '--external-ref', 'CRM-2');
    expect(taken.code).to.equal(1);
    expect(taken.stderr).to.contain('--external-ref');
    const invalid = await run('create', '--name', 'Other', '--email', 'nowhere');
    expect(invalid.stderr).to.contain('--email');
    expect((await run('update', customerId)).stderr).to.contain('at least one field');
    expect((await run('update', customerId, '--email', 'a@example.com', '--remove-email')).code).to.equal(2);
    expect((await run('show', 'lic_01k8e7qk3vf2tb5s0w9m4x6ydz')).stderr).to.contain(
      'this is the id of a license',
    );
  });
});
