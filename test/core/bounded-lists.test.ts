// Lists without pages: the maximum number of each kind of object.
import { expect } from 'chai';
import { createSession, GATEWAYS, type Payments, pay, SLOTS, startPayments } from '../support/hub/payment.ts';
import { query } from '../support/postgres/databases.ts';
import { refusal } from './payment/refusal.ts';

describe('unpaged lists', () => {
  let payments: Payments;
  before(async () => {
    payments = await startPayments();
    await payments.hub.admin.createApp({ slug: 'full', name: 'Full' });
  });
  after(() => payments.stop());

  const sql = (text: string) => query(payments.hub.databaseUrl, text);

  it('have at most 1000 slots', async () => {
    await sql(`insert into slot (id, name, gateway, environment, base_url, options, sealed_credentials, created_at, rotated_at)
               select gen_random_uuid(), 'slot-' || n, gateway, environment, base_url, options, sealed_credentials, now(), now()
               from slot, generate_series(1, 998) n where name = '${SLOTS.gateway_one}'`);
    const { slots } = await payments.admin.listSlots({});
    expect(slots).to.have.length(1_000);
    const another = payments.admin.addSlot({
      name: 'another',
      gateway: 'gateway_one',
      environment: slots[0]?.environment ?? expect.fail(),
      baseUrl: slots[0]?.baseUrl ?? '',
      credentials: payments.simulator.credentials.gateway_one,
    });
    expect(await refusal(another)).to.include({ code: 'too_many' });
    await sql(`delete from slot where name like 'slot-%'`);
  });

  it('have at most 500 current and future fee rules, and the newest 1000 ended ones', async () => {
    await sql(`insert into fee_rule (id, name, version, basis_points, fixed_minor, valid_from, valid_to, created_at)
               select gen_random_uuid(), 'rule-' || n, 1, 1, 0, now() - interval '2 days',
                      case when n > 500 then now() - interval '1 day' end, now()
               from generate_series(1, 2000) n`);
    expect((await payments.admin.listFeeRules({})).rules).to.have.length(500);
    expect((await payments.admin.listFeeRules({ includeEnded: true })).rules).to.have.length(1_500);
    expect(
      await refusal(payments.admin.addFeeRule({ rule: { name: 'another', basisPoints: 1 } })),
    ).to.include({ code: 'too_many' });
    await sql(`delete from fee_rule`);
  });

  it('have at most 100 limit profiles of an app', async () => {
    const { admin } = payments.hub;
    await sql(`insert into limit_profile (id, app_id, name, limits)
               select gen_random_uuid(), id, 'profile-' || n, '{}' from app, generate_series(1, 100) n where slug = 'full'`);
    expect((await admin.listLimitProfiles({ app: 'full' })).limitProfiles).to.have.length(100);
    expect(await refusal(admin.setLimitProfile({ app: 'full', name: 'another', limits: {} }))).to.include({
      code: 'too_many',
    });
    await admin.setLimitProfile({ app: 'full', name: 'profile-7', limits: { seats: 7n } });
  });

  it('have at most 50 published keys of an app, and the newest withdrawn ones', async () => {
    const { admin } = payments.hub;
    const copy = (times: number, isWithdrawn: boolean, prefix: string) =>
      sql(`insert into signing_key (id, app_id, kid, public_key_pem, sealed_private_key, created_at, retired_at, withdrawn_at)
           select gen_random_uuid(), k.app_id, '${prefix}' || n, k.public_key_pem, k.sealed_private_key, now(), now(),
                  ${isWithdrawn ? 'now()' : 'null'}
           from signing_key k join app a on a.id = k.app_id, generate_series(1, ${times}) n
           where a.slug = 'full' and k.retired_at is null`);
    await copy(200, true, 'withdrawn-');
    await copy(49, false, 'retired-');
    expect(await refusal(admin.rotateSigningKey({ app: 'full' }))).to.include({ code: 'too_many' });
    const { app } = await admin.getApp({ app: 'full' });
    expect(app?.signingKeys).to.have.length(100);
    const { apps } = await admin.listApps({});
    const listed = apps.find(({ slug }) => slug === 'full')?.signingKeys ?? [];
    expect(listed.map(({ kid }) => kid)).to.deep.equal(app?.signingKeys.map(({ kid }) => kid));
    expect(listed.filter(({ kid }) => !kid.startsWith('withdrawn-'))).to.have.length(50);
  });

  for (const gateway of GATEWAYS) {
    it(`have the newest page of a session's history at ${gateway}, and lead to the others`, async () => {
      const session = await createSession(payments, gateway);
      await pay(payments, session);
      const { sessionId, merchantTransactionId } = session;
      const ofSession = `charge_session where merchant_transaction_id = '${merchantTransactionId}'`;
      await sql(`insert into verification (id, session_id, operation, outcome, detail, asked_at, duration_ms)
                 select gen_random_uuid(), id, 'query', 'pending', '', now(), 1 from generate_series(1, 120), ${ofSession}`);
      const { verifications, moreVerifications, moreCallbacks } =
        await payments.sessions.inspectChargeSession({ sessionId });
      expect(verifications).to.have.length(50);
      expect(moreVerifications).to.equal(true);
      expect(moreCallbacks).to.equal(false);
      const first = await payments.sessions.listVerifications({ sessionId });
      expect(first.verifications).to.deep.equal(verifications.toReversed());
      const { verifications: others, nextPageToken } = await payments.sessions.listVerifications({
        sessionId,
        pageToken: first.nextPageToken,
        pageSize: 1_000,
      });
      expect(nextPageToken).to.equal('');
      const all = await payments.sessions.listVerifications({ sessionId, pageSize: 1_000 });
      expect([...first.verifications, ...others]).to.deep.equal(all.verifications);
      const { statusChanges } = await payments.sessions.listStatusChanges({ sessionId, pageSize: 1 });
      expect(statusChanges.map(({ callbackId }) => callbackId.slice(0, 3))).to.deep.equal(['cb_']);
    });
  }
});
