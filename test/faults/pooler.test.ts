// Hubs behind a pooler that gives each transaction another session: nothing fails, and nothing stays in the sessions.
import { expect } from 'chai';
import { issueLicense } from '../support/license.ts';
import { requirePgBouncer, startPgBouncer, type PgBouncer } from '../support/pgbouncer.ts';
import { createSession, pay, startPayments, untilStatus } from '../support/payment.ts';
import { createDatabase, query } from '../support/postgres.ts';
import { activate, checkStatus } from '../support/rest.ts';

describe('a hub behind PgBouncer in transaction mode', function () {
  this.timeout(120_000); // it starts hubs
  let databaseUrl: string;
  let bouncer: PgBouncer;
  before(function () {
    requirePgBouncer(this);
  });
  beforeEach(async () => {
    databaseUrl = await createDatabase();
    bouncer = await startPgBouncer(databaseUrl);
  });
  afterEach(() => bouncer?.stop());

  it('works', async () => {
    const payments = await startPayments({
      settings: { databaseUrl: bouncer.url, databasePooler: 'transaction', databaseSchema: 'hub' },
    });
    const { hub } = payments;
    const { licenseKey, licenseId } = await issueLicense(hub.admin);
    expect((await activate(hub.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
    expect((await checkStatus(hub.gatewayUrl, licenseId, 'machine-1')).status).to.equal(200);
    for (const gateway of ['gateway_one', 'gateway_two'] as const) {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      await untilStatus(payments, session, 'success');
    }
    await payments.stop();
    expect(await query(bouncer.url, 'select from pg_prepared_statements')).to.deep.equal([]);
  });
});
