import { Code } from '@connectrpc/connect';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { refusal, refusalCode } from '../../../support/hub/refusal.ts';
import { query } from '../../../support/postgres/databases.ts';

describe('the default terms of an app', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('are a lease of 30 days, no grace and one seat, unless the request says otherwise', async () => {
    const first = await hub.admin.createApp({ slug: 'first' });
    expect(first.app?.defaultTerms).to.include({ leaseDays: 30, graceDays: 0, seatLimit: 1 });
    const second = await hub.admin.createApp({
      slug: 'second',
      defaultTerms: { graceDays: 14, seatLimit: -1 },
    });
    expect(second.app?.defaultTerms).to.include({ leaseDays: 0, graceDays: 14, seatLimit: -1 });
    expect((await hub.admin.getApp({ app: 'second' })).app?.defaultTerms).to.include({ seatLimit: -1 });
    const wrong = { slug: 'third', defaultTerms: { seatLimit: -2 } };
    expect((await refusal(hub.admin.createApp(wrong)))[0]).to.equal(Code.InvalidArgument);
  });

  it('change one by one, with a record of each change', async () => {
    const { app } = await hub.admin.createApp({ slug: 'changing' });
    const update = (paths: string[], more: object = {}) =>
      hub.admin.updateApp({ app: 'changing', updateMask: { paths }, ...more });
    const named = await update(['name', 'default_terms.seat_limit'], {
      name: 'Changing',
      defaultTerms: { seatLimit: 5, graceDays: 9 },
    });
    expect(named.app).to.include({ name: 'Changing' });
    expect(named.app?.defaultTerms).to.include({ leaseDays: 30, graceDays: 0, seatLimit: 5 });
    await update(['default_terms.seat_limit'], { defaultTerms: { seatLimit: 5 } });
    const without = await update(['default_terms.lease_days']);
    expect(without.app?.defaultTerms).to.include({ leaseDays: 0, seatLimit: 5 });
    const entries = await query(
      hub.databaseUrl,
      `select before, after from audit_entry where subject = $1 and action = 'app.update' order by id`,
      [app?.appId],
    );
    expect(entries).to.deep.equal([
      { before: { name: 'changing', seatLimit: 1 }, after: { name: 'Changing', seatLimit: 5 } },
      { before: { leaseDays: 30 }, after: { leaseDays: null } },
    ]);
  });

  it('change only by a mask of known fields of a known app', async () => {
    await hub.admin.createApp({ slug: 'masked' });
    const update = (app: string, paths: string[]) =>
      refusalCode(hub.admin.updateApp({ app, updateMask: { paths } }));
    expect(await update('masked', [])).to.equal('update_mask_invalid');
    expect(await update('masked', ['slug'])).to.equal('update_mask_invalid');
    expect(await update('nowhere', ['name'])).to.equal('app_unknown');
  });
});
