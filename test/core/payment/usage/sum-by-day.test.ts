// The usage log by day: exact sums, by currency and slot, in days of UTC.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { addSlot, driverOf, reverse, settle } from '../fake-gateway.ts';
import { type PaymentAdmin, startPaymentAdmin } from '../payment-admin.ts';
import { refusal } from '../refusal.ts';

const FROM = new Date('2026-05-01T00:00:00.000Z');
const DAY_MS = 86_400_000;

describe('the usage log by day', () => {
  let admin: PaymentAdmin;
  before(async () => {
    admin = await startPaymentAdmin({ driverOf, clock: () => FROM });
  });
  after(() => admin.stop());

  const at = (time: string): Date => new Date(`2026-05-${time}Z`);
  const summarize = async (slot: string | undefined, from = FROM, days = 30) => {
    const reply = await admin.client.summarizeUsage({
      ...(slot !== undefined && { slot }),
      settledFrom: timestampFromDate(from),
      settledTo: timestampFromDate(new Date(from.getTime() + days * DAY_MS)),
    });
    return reply.days.map(({ $typeName: _, ...day }) => day);
  };

  it('has payments, fees, reversals and the net amount of each currency', async () => {
    const [slot, other] = [await addSlot(admin), await addSlot(admin)];
    const pay = (amountMinor: bigint, currency: string, settledAt: Date, on = slot) =>
      settle(admin.db.pool, { slot: on, amountMinor, currency, settledAt });
    await pay(10_000n, 'BDT', at('01T00:00:00.000'));
    const reversed = await pay(20_000n, 'BDT', at('01T23:59:59.999'));
    const long = await pay(9_007_199_254_740_991n, 'JPY', at('01T12:00:00.000'));
    await pay(9_007_199_254_740_991n, 'JPY', at('01T12:00:00.001'));
    await pay(100n, 'BDT', at('02T00:00:00.000'));
    await pay(7n, 'BDT', at('02T00:00:00.000'), other);
    await pay(8n, 'BDT', at('31T00:00:00.000')); // beyond the end
    await admin.db.pool.query(
      'update usage_log set fee_total_minor = amount_minor / 100 where currency = $1',
      ['BDT'],
    );
    await reverse(admin.db.pool, reversed.usageLogId, at('02T12:00:00.000'));
    await reverse(admin.db.pool, long.usageLogId, at('03T12:00:00.000'));

    const whole = { refunds: 0n, refundedMinorUnits: 0n };
    const none = { reversedPayments: 0n, reversedMinorUnits: 0n, ...whole };
    const first = { day: '2026-05-01', currency: 'BDT', payments: 2n, paidMinorUnits: 30_000n };
    const yen = { day: '2026-05-01', currency: 'JPY', payments: 2n, paidMinorUnits: 18_014_398_509_481_982n };
    const second = { day: '2026-05-02', currency: 'BDT', payments: 1n, paidMinorUnits: 100n };
    const third = { day: '2026-05-03', currency: 'JPY', payments: 0n, paidMinorUnits: 0n };
    // A reversal counts on its own day, and leaves the day of the payment as it was.
    const taken = {
      reversedPayments: 1n,
      reversedMinorUnits: 20_000n,
      netMinorUnits: 100n - 20_000n,
      ...whole,
    };
    const yenTaken = { reversedPayments: 1n, reversedMinorUnits: 9_007_199_254_740_991n, ...whole };
    expect(await summarize(slot.name)).to.deep.equal([
      { ...first, feeMinorUnits: 300n, ...none, netMinorUnits: 30_000n },
      { ...yen, feeMinorUnits: 0n, ...none, netMinorUnits: 18_014_398_509_481_982n },
      { ...second, feeMinorUnits: 1n, ...taken },
      { ...third, feeMinorUnits: 0n, ...yenTaken, netMinorUnits: -9_007_199_254_740_991n },
    ]);
    expect((await summarize(undefined)).at(-2)).to.include({ payments: 2n, paidMinorUnits: 107n });
    expect(await summarize(slot.name, at('04T00:00:00.000'), 5)).to.deep.equal([]);
  });

  it('refuses an unknown slot, and a period that is too long or ends before it begins', async () => {
    expect(await refusal(summarize('nowhere'))).to.include({ code: 'slot_unknown', field: 'slot' });
    for (const days of [-1, 0, 401]) {
      expect(await refusal(summarize(undefined, FROM, days)), String(days)).to.include({
        code: 'period_invalid',
        field: 'settledTo',
      });
    }
    expect(await summarize(undefined, FROM, 400)).to.be.an('array');
  });
});
