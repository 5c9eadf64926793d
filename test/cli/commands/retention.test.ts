// hubctl retention prune, run as a person would against a hub.
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { query } from '../../support/postgres/databases.ts';
import { hubctlHere } from '../run-here.ts';

describe('hubctl retention prune', () => {
  let hub: TestHub;
  const run = (...args: string[]) =>
    hubctlHere(['retention', 'prune', ...args], { HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });

  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('lists the months, drops them only with confirmation, and refuses a month that is not over', async () => {
    await query(
      hub.databaseUrl,
      `select make_month_partitions('callback', '{2024-02-01}');
       insert into callback (id, gateway, fields, received_at, state, reason, attempts)
       values (partition_floor('2024-02-01'), 'gateway_one', '{}', now(), 'settled', '', 1)`,
    );
    const listed = await run('--before', '2024-03', '--dry-run', '--output', 'json');
    const [row, ...others] = JSON.parse(listed.stdout);
    expect(others).to.deep.equal([]);
    expect(row).to.include({ month: '2024-02', table: 'callback', rows: 1 });
    const asked = await run('--before', '2024-03');
    expect(asked).to.include({ code: 2, stdout: '' });
    expect(asked.stderr).to.contain('--yes');
    // Also without a terminal: the usage error comes first.
    for (const wrong of ['2024-13', 'nonsense', '2024-3', '2024-03-01']) {
      const refused = await run('--before', wrong);
      expect(refused, wrong).to.include({ code: 2 });
      expect(refused.stderr, wrong).to.contain('Give a month, such as 2026-01.');
    }
    expect((await run('--before', '2999-01', '--yes')).stderr).to.contain('only months that are over');
    expect(await query(hub.databaseUrl, 'select from callback')).to.have.length(1);

    const dropped = await run('--before', '2024-03', '--yes', '--output', 'json');
    expect(JSON.parse(dropped.stdout)).to.have.length(1);
    expect(await query(hub.databaseUrl, 'select from callback')).to.have.length(0);
  });
});
