import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import fc from 'fast-check';
import { feeAmount } from '../../../../core/payment/fees/amount.ts';
import { computeFees } from '../../../../core/payment/fees/rules.ts';
import { addSlot, driverOf, payLater, reverse, settle } from '../fake-gateway.ts';
import { type PaymentAdmin, startPaymentAdmin } from '../payment-admin.ts';
import { refusal } from '../refusal.ts';
import { feeFormula, minorAmount } from './fee-arbitraries.ts';

const NOW = new Date('2026-05-01T12:00:00.000Z');
const HOUR_MS = 3_600_000;

describe('the backtest of a fee rule', () => {
  let admin: PaymentAdmin;
  let now = NOW;
  before(async () => {
    admin = await startPaymentAdmin({ driverOf, clock: () => now });
  });
  after(() => admin.stop());
  beforeEach(async () => {
    now = NOW;
    await admin.db.pool.query('truncate usage_log, fee_rule, fee_line');
  });

  it('computes in SQL exactly the fees of a settlement', async () => {
    const slot = await addSlot(admin);
    let from = NOW;
    const payments = fc.array(minorAmount, { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(feeFormula, payments, async (formula, amounts) => {
        // Each run has an hour of its own.
        from = new Date(from.getTime() + HOUR_MS);
        for (const amountMinor of amounts) {
          await settle(admin.db.pool, { slot, amountMinor, currency: 'BDT', settledAt: from });
        }
        const [result] = await backtest(
          {
            name: 'card',
            currency: 'BDT',
            basisPoints: formula.basisPoints,
            fixedMinorUnits: formula.fixedMinor,
            ...(formula.minMinor !== null && { minMinorUnits: formula.minMinor }),
            ...(formula.maxMinor !== null && { maxMinorUnits: formula.maxMinor }),
          },
          from,
        );
        expect(result).to.deep.include({
          currency: 'BDT',
          payments: BigInt(amounts.length),
          paidMinorUnits: sum(amounts),
          chargedMinorUnits: 0n,
          wouldChargeMinorUnits: sum(amounts.map((amount) => feeAmount(formula, amount))),
        });
      }),
      { numRuns: 100 },
    );
  });

  it('compares with the fees charged, by currency, for the payments of the rule', async () => {
    const [slot, bank] = [await addSlot(admin), await addSlot(admin, { gateway: 'bank' })];
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 100 } });
    await admin.client.addFeeRule({ rule: { name: 'tax', basisPoints: 5_000 } });
    await pay(slot, 10_000n, 'BDT');
    await pay(slot, 20_000n, 'BDT');
    await pay(slot, 5_000n, 'USD');
    await pay(bank, 70_000n, 'BDT');
    const changed = { name: 'card', gateway: 'till', basisPoints: 300 };
    expect((await backtest(changed)).map(plain)).to.deep.equal([
      { currency: 'BDT', payments: 2n, paid: 30_000n, charged: 300n, would: 900n },
      { currency: 'USD', payments: 1n, paid: 5_000n, charged: 50n, would: 150n },
    ]);
    expect((await backtest({ ...changed, gateway: '', slot: bank.name })).map(plain)).to.deep.equal([
      { currency: 'BDT', payments: 1n, paid: 70_000n, charged: 700n, would: 2_100n },
    ]);
    expect(await backtest({ ...changed, currency: 'EUR' })).to.deep.equal([]);
    expect((await admin.client.listFeeRules({ includeEnded: true })).rules).to.have.length(2);
  });

  it('excludes payments of a more specific rule of the same name', async () => {
    const slot = await addSlot(admin);
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 100 } });
    await pay(slot, 10_000n, 'BDT');
    now = new Date(NOW.getTime() + 1_000);
    const { rule } = await admin.client.addFeeRule({
      rule: { name: 'card', slot: slot.name, basisPoints: 50 },
    });
    await pay(slot, 20_000n, 'BDT');
    now = new Date(NOW.getTime() + 2_000);
    await admin.client.retireFeeRule({ feeRuleId: rule?.feeRuleId ?? '' });
    await pay(slot, 40_000n, 'BDT');
    expect((await backtest({ name: 'card', currency: 'BDT', basisPoints: 200 })).map(plain)).to.deep.equal([
      { currency: 'BDT', payments: 2n, paid: 50_000n, charged: 500n, would: 1_000n },
    ]);
    expect((await backtest({ name: 'card', slot: slot.name, basisPoints: 200 })).map(plain)).to.deep.equal([
      { currency: 'BDT', payments: 3n, paid: 70_000n, charged: 600n, would: 1_400n },
    ]);
  });

  it('counts a reversed payment once, and a later payment separately', async () => {
    const slot = await addSlot(admin);
    const payment = { slot, amountMinor: 10_000n, currency: 'BDT', settledAt: NOW };
    const { usageLogId } = await settle(admin.db.pool, payment);
    await reverse(admin.db.pool, usageLogId, NOW);
    const rule = { name: 'card', basisPoints: 100 };
    const once = { currency: 'BDT', payments: 1n, paid: 10_000n, charged: 0n, would: 100n };
    expect((await backtest(rule)).map(plain), 'reversed').to.deep.equal([once]);
    await payLater(admin.db.pool, usageLogId, { same: true, at: NOW });
    expect((await backtest(rule)).map(plain), 'standing again').to.deep.equal([once]);
    await payLater(admin.db.pool, usageLogId, { same: false, at: NOW });
    expect((await backtest(rule)).map(plain), 'another one').to.deep.equal([
      { ...once, payments: 2n, paid: 20_000n, would: 200n },
    ]);
  });

  it('includes the start and excludes the end of the period', async () => {
    const slot = await addSlot(admin);
    for (const ms of [-1, 0, HOUR_MS - 1, HOUR_MS]) {
      const settledAt = new Date(NOW.getTime() + ms);
      await settle(admin.db.pool, { slot, amountMinor: 100n, currency: 'BDT', settledAt });
    }
    const [result] = await backtest({ name: 'card', basisPoints: 1 });
    expect(result?.payments).to.equal(2n);
  });

  it('is refused for an invalid rule, and for a period that ends before it begins', async () => {
    expect(await refusal(backtest({ name: 'card', fixedMinorUnits: 1n }))).to.include({
      field: 'rule.currency',
    });
    expect(await refusal(backtest({ name: 'card', slot: 'nowhere' }))).to.include({ code: 'slot_unknown' });
    const at = timestampFromDate(NOW);
    const backwards = admin.client.backtestFeeRule({ rule: { name: 'card' }, from: at, to: at });
    expect(await refusal(backwards)).to.include({ code: 'fee_rule_invalid', field: 'to' });
  });

  type Rule = NonNullable<Parameters<typeof admin.client.backtestFeeRule>[0]['rule']>;

  /** Over the hour that begins at `from`. */
  async function backtest(rule: Rule, from = NOW) {
    const to = new Date(from.getTime() + HOUR_MS);
    const period = { from: timestampFromDate(from), to: timestampFromDate(to) };
    return (await admin.client.backtestFeeRule({ rule, ...period })).currencies;
  }

  /** Settles a payment now, by the rules in force. */
  async function pay(slot: { id: string; gateway: string }, amountMinor: bigint, currency: string) {
    const amount = { minor: amountMinor, currency };
    const { pool } = admin.db;
    const { lines } = await computeFees(pool, { gateway: slot.gateway, slotId: slot.id, amount, at: now });
    await settle(pool, { slot, amountMinor, currency, settledAt: now, lines });
  }
});

function plain(result: {
  currency: string;
  payments: bigint;
  paidMinorUnits: bigint;
  chargedMinorUnits: bigint;
  wouldChargeMinorUnits: bigint;
}) {
  const { currency, payments, paidMinorUnits, chargedMinorUnits, wouldChargeMinorUnits } = result;
  return {
    currency,
    payments,
    paid: paidMinorUnits,
    charged: chargedMinorUnits,
    would: wouldChargeMinorUnits,
  };
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}
