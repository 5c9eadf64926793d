import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { formatId } from '../../../../core/ids.ts';
import { computeFees } from '../../../../core/payment/fees/rules.ts';
import { addSlot, driverOf, settle } from '../fake-gateway.ts';
import { type PaymentAdmin, startPaymentAdmin } from '../payment-admin.ts';
import { refusal } from '../refusal.ts';

const NOW = new Date('2026-05-01T12:00:00.000Z');

describe('the usage log', () => {
  let admin: PaymentAdmin;
  before(async () => {
    admin = await startPaymentAdmin({ driverOf, clock: () => NOW });
  });
  after(() => admin.stop());

  it('shows payments with their fees', async () => {
    const slot = await addSlot(admin);
    for (const name of ['tax', 'card']) await admin.client.addFeeRule({ rule: { name, basisPoints: 250 } });
    const amount = { minor: 10_000n, currency: 'BDT' };
    const payment = { gateway: slot.gateway, slotId: slot.id, amount, at: NOW };
    const { lines } = await computeFees(admin.db.pool, payment);
    const paid = {
      slot,
      amountMinor: amount.minor,
      currency: 'BDT',
      settledAt: NOW,
      lines: lines.toReversed(),
    };
    const { sessionId, usageLogId } = await settle(admin.db.pool, paid);
    const { usageLogs } = await admin.client.listUsageLogs({ slot: slot.name });
    const [log] = usageLogs;
    expect(log).to.deep.include({
      usageLogId: formatId('use', usageLogId),
      sessionId: formatId('chs', sessionId),
      slot: slot.name,
      gateway: 'till',
      orderReference: 'ORD-1',
      settledAt: timestampFromDate(NOW),
    });
    expect(log?.reversedAt).to.equal(undefined);
    expect(log?.amount).to.include({ minorUnits: 10_000n, currency: 'BDT' });
    expect(log?.feeTotal).to.include({ minorUnits: 500n, currency: 'BDT' });
    expect(
      log?.fees.map(({ rule, ruleVersion, amount }) => [rule, ruleVersion, amount?.minorUnits]),
    ).to.deep.equal([
      ['card', 1, 250n],
      ['tax', 1, 250n],
    ]);
  });

  it('lists every payment once, newest first, page by page, by slot and by time', async () => {
    const [slot, other] = [await addSlot(admin), await addSlot(admin)];
    const settled: string[] = [];
    for (let index = 0; index < 25; index++) {
      const settledAt = new Date(NOW.getTime() + index * 1_000);
      const payment = { slot, amountMinor: 100n, currency: 'BDT', settledAt };
      settled.unshift(formatId('use', (await settle(admin.db.pool, payment)).usageLogId));
      await settle(admin.db.pool, { ...payment, slot: other });
    }
    const listed: string[] = [];
    let pageToken = '';
    do {
      const page = await admin.client.listUsageLogs({ slot: slot.name, pageSize: 10, pageToken });
      expect(page.usageLogs.length).to.be.at.most(10);
      listed.push(...page.usageLogs.map(({ usageLogId }) => usageLogId));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(listed).to.deep.equal(settled);

    const between = await admin.client.listUsageLogs({
      slot: slot.name,
      settledFrom: timestampFromDate(new Date(NOW.getTime() + 5_000)),
      settledTo: timestampFromDate(new Date(NOW.getTime() + 8_000)),
    });
    expect(between.usageLogs.map(({ usageLogId }) => usageLogId)).to.deep.equal(settled.slice(-8, -5));
  });

  it('refuses an unknown slot and an invalid page token', async () => {
    expect(await refusal(admin.client.listUsageLogs({ slot: 'nowhere' }))).to.include({
      code: 'slot_unknown',
    });
    expect(await refusal(admin.client.listUsageLogs({ pageToken: 'nonsense' }))).to.include({
      code: 'page_token_invalid',
    });
  });
});
