// A hub whose database hangs while requests keep coming: each is answered soon, and nothing piles up.
import { expect } from 'chai';
import pg from 'pg';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { issueLicense } from '../../../support/hub/license.ts';
import { until } from '../../../support/until.ts';

describe('a hub whose database hangs', () => {
  let hub: TestHub;
  let blocker: pg.Client;
  before(async () => {
    hub = await startHub();
    blocker = new pg.Client({ connectionString: hub.databaseUrl });
    await blocker.connect();
  });
  after(async () => {
    await blocker.end();
    await hub.stop();
  });

  it('sheds waiting calls, then new ones at once, and serves again without a restart', async () => {
    const { licenseId } = await issueLicense(hub.admin);
    const check = async (): Promise<number> => {
      const response = await fetch(`${hub.gatewayUrl}/v1/status/${licenseId}`);
      await response.text();
      return response.status;
    };
    expect(await check()).to.equal(200);
    await blocker.query('begin; lock table license in access exclusive mode');
    let open = 0;
    const statuses: number[] = [];
    const ask = async (): Promise<void> => {
      open += 1;
      statuses.push(await check());
      open -= 1;
    };
    // Two batches reach the database; the rest gathers behind them.
    const first = [ask()];
    await until(() => open === 1, 'the first is sent');
    const rest = Array.from({ length: 400 }, ask);
    await until(() => statuses.length > 0, 'the first are shed');
    await until(async () => (await fetch(`${hub.gatewayUrl}/readyz`)).status === 503, 'the hub is not ready');
    expect((await fetch(`${hub.gatewayUrl}/healthz`)).status).to.equal(200);
    const late = await check();
    expect([late, open > 0], 'a late request is shed before the early ones are answered').to.deep.equal([
      503,
      true,
    ]);
    await blocker.query('rollback');
    await Promise.all([...first, ...rest]);
    expect(statuses.filter((status) => status !== 200 && status !== 503)).to.deep.equal([]);
    await until(async () => (await check()) === 200, 'requests are served again');
    await until(
      async () => (await fetch(`${hub.gatewayUrl}/readyz`)).status === 200,
      'the hub is ready again',
    );
  });
});
