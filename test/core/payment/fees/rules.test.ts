import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import fc from 'fast-check';
import { applyRules, computeFees } from '../../../../core/payment/fees/rules.ts';
import { query } from '../../../support/postgres/databases.ts';
import { addSlot, driverOf } from '../fake-gateway.ts';
import { type PaymentAdmin, startPaymentAdmin } from '../payment-admin.ts';
import { refusal } from '../refusal.ts';
import { feeRules, minorAmount } from './fee-arbitraries.ts';

const NOW = new Date('2026-05-01T12:00:00.000Z');
const later = (ms: number) => new Date(NOW.getTime() + ms);

describe('the fees of a payment', () => {
  const feesOf = (rules: Parameters<typeof applyRules>[0], minor: bigint) =>
    applyRules(rules, { gateway: 'till', slotId: 'slot-1', amount: { minor, currency: 'BDT' }, at: NOW });

  it('add up to the total, to the minor unit', () => {
    fc.assert(
      fc.property(feeRules, minorAmount, (rules, amount) => {
        const { lines, totalMinor } = feesOf(rules, amount);
        expect(totalMinor - lines.reduce((sum, line) => sum + line.amountMinor, 0n)).to.equal(0n);
        expect(lines.every((line) => line.amountMinor >= 0n)).to.equal(true);
      }),
    );
  });

  it('are the same rules whatever is paid, and never less in total for more', () => {
    fc.assert(
      fc.property(feeRules, minorAmount, minorAmount, (rules, one, other) => {
        const [less, more] = one < other ? [one, other] : [other, one];
        const [low, high] = [feesOf(rules, less), feesOf(rules, more)];
        expect(low.lines.map(({ rule }) => rule)).to.deep.equal(high.lines.map(({ rule }) => rule));
        expect(low.totalMinor <= high.totalMinor).to.equal(true);
      }),
    );
  });
});

describe('fee rules', function () {
  this.timeout(30_000); // the first test to ask starts PostgreSQL
  let admin: PaymentAdmin;
  let now = NOW;
  before(async () => {
    admin = await startPaymentAdmin({ driverOf, clock: () => now });
  });
  after(() => admin.stop());
  beforeEach(async () => {
    now = NOW;
    await admin.db.pool.query('delete from fee_rule');
  });

  it('say what a payment costs now, rule by rule, and the lines add up to the total', async () => {
    const slot = await addSlot(admin);
    await admin.client.addFeeRule({ rule: { name: 'tax', basisPoints: 1_500 } });
    await admin.client.addFeeRule({ rule: { name: 'card', gateway: 'till', basisPoints: 250 } });
    const special = {
      name: 'card',
      slot: slot.name,
      currency: 'BDT',
      basisPoints: 190,
      fixedMinorUnits: 30n,
    };
    await admin.client.addFeeRule({ rule: special });
    await admin.client.addFeeRule({ rule: { name: 'dollars', currency: 'USD', basisPoints: 100 } });
    const preview = await admin.client.previewFees({
      slot: slot.name,
      amount: { minorUnits: 10_001n, currency: 'BDT' },
    });
    expect(
      preview.fees.map(({ rule, ruleVersion, amount }) => [rule, ruleVersion, amount?.minorUnits]),
    ).to.deep.equal([
      ['card', 1, 220n],
      ['tax', 1, 1_500n],
    ]);
    expect(preview.feeTotal).to.include({ minorUnits: 1_720n, currency: 'BDT' });
    const payment = {
      gateway: 'till',
      slotId: slot.id,
      amount: { minor: 10_001n, currency: 'BDT' },
      at: NOW,
    };
    const fees = await computeFees(admin.db.pool, payment);
    expect(fees.totalMinor).to.equal(fees.lines.reduce((sum, line) => sum + line.amountMinor, 0n));
    expect(fees.totalMinor).to.equal(1_720n);
  });

  it('are followed by their next version from the moment that one begins', async () => {
    const first = (await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 100 } })).rule;
    const second = (
      await admin.client.addFeeRule({
        rule: { name: 'card', basisPoints: 200, validFrom: timestampFromDate(later(1_000)) },
      })
    ).rule;
    const other = (
      await admin.client.addFeeRule({ rule: { name: 'card', currency: 'BDT', basisPoints: 300 } })
    ).rule;
    expect([first?.version, second?.version, other?.version]).to.deep.equal([1, 2, 1]);
    expect(await chargedAt(999, 'USD')).to.deep.equal([['card', 1, 100n]]);
    expect(await chargedAt(1_000, 'USD')).to.deep.equal([['card', 2, 200n]]);
    expect(await chargedAt(1_000, 'BDT')).to.deep.equal([['card', 1, 300n]]);
  });

  it('give way to a version that begins before one that was planned', async () => {
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 100 } });
    const planned = { name: 'card', basisPoints: 200, validFrom: timestampFromDate(later(1_000)) };
    await admin.client.addFeeRule({ rule: planned });
    now = later(500);
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 300 } });
    expect(await chargedAt(499)).to.deep.equal([['card', 1, 100n]]);
    expect(await chargedAt(500)).to.deep.equal([['card', 3, 300n]]);
    expect(await chargedAt(1_000)).to.deep.equal([['card', 3, 300n]]);
  });

  it('number their versions without a gap or a double, however many operators add one at once', async () => {
    const rates = Array.from({ length: 8 }, (_, index) => index * 10);
    await Promise.all(
      rates.map((basisPoints) => admin.client.addFeeRule({ rule: { name: 'card', basisPoints } })),
    );
    const { rules } = await admin.client.listFeeRules({ includeEnded: true });
    expect(rules.map(({ version }) => version)).to.deep.equal([8, 7, 6, 5, 4, 3, 2, 1]);
    expect(await chargedAt(0)).to.have.length(1);
    expect((await admin.client.listFeeRules({})).rules.map(({ version }) => version)).to.deep.equal([8]);
  });

  it('are listed by name, the most specific first, the newest version first', async () => {
    const slot = await addSlot(admin);
    for (const scope of [{}, { currency: 'BDT' }, { gateway: 'till' }, { slot: slot.name }, {}]) {
      await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 1, ...scope } });
    }
    await admin.client.addFeeRule({ rule: { name: 'a-tax', basisPoints: 1 } });
    const { rules } = await admin.client.listFeeRules({ includeEnded: true });
    expect(
      rules.map((rule) => [rule.name, rule.slot, rule.gateway, rule.currency, rule.version]),
    ).to.deep.equal([
      ['a-tax', '', '', '', 1],
      ['card', slot.name, 'till', '', 1],
      ['card', '', 'till', '', 1],
      ['card', '', '', 'BDT', 1],
      ['card', '', '', '', 2],
      ['card', '', '', '', 1],
    ]);
  });

  it('end when they are retired, once', async () => {
    const { rule } = await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 100 } });
    const feeRuleId = rule?.feeRuleId ?? '';
    now = later(1_000);
    const retired = await admin.client.retireFeeRule({ feeRuleId });
    now = later(2_000);
    const again = await admin.client.retireFeeRule({ feeRuleId });
    for (const { rule } of [retired, again]) {
      expect(rule?.validTo && timestampDate(rule.validTo)).to.deep.equal(later(1_000));
    }
    expect(await chargedAt(999)).to.have.length(1);
    expect(await chargedAt(1_000)).to.deep.equal([]);
    const entries = await query<{ action: string }>(
      admin.databaseUrl,
      'select action from audit_entry where subject = $1 order by id',
      [feeRuleId],
    );
    expect(entries.map(({ action }) => action)).to.deep.equal(['fee_rule.add', 'fee_rule.retire']);
  });

  it('are never in force if they are retired before they begin', async () => {
    const validFrom = timestampFromDate(later(1_000));
    const { rule } = await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 100, validFrom } });
    await admin.client.retireFeeRule({ feeRuleId: rule?.feeRuleId ?? '' });
    expect(await chargedAt(1_000)).to.deep.equal([]);
    expect((await admin.client.listFeeRules({})).rules).to.deep.equal([]);
    expect((await admin.client.listFeeRules({ includeEnded: true })).rules).to.have.length(1);
  });

  it('are refused with the field at fault when they make no sense, and nothing is changed then', async () => {
    const slot = await addSlot(admin);
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 100 } });
    const valid = { name: 'card', basisPoints: 100 };
    for (const [wrong, code, field] of [
      [{ name: '' }, 'fee_rule_invalid', 'rule.name'],
      [{ name: 'Card Fee' }, 'fee_rule_invalid', 'rule.name'],
      [{ basisPoints: -1 }, 'fee_rule_invalid', 'rule.basisPoints'],
      [{ basisPoints: 10_001 }, 'fee_rule_invalid', 'rule.basisPoints'],
      [{ currency: 'BDT', fixedMinorUnits: -1n }, 'fee_rule_invalid', 'rule.fixedMinorUnits'],
      [{ currency: 'BDT', maxMinorUnits: 2n ** 53n }, 'fee_rule_invalid', 'rule.maxMinorUnits'],
      [{ fixedMinorUnits: 1n }, 'fee_rule_invalid', 'rule.currency'],
      [{ minMinorUnits: 1n }, 'fee_rule_invalid', 'rule.currency'],
      [{ currency: 'XXB' }, 'fee_rule_invalid', 'rule.currency'],
      [{ currency: 'BDT', minMinorUnits: 2n, maxMinorUnits: 1n }, 'fee_rule_invalid', 'rule.minMinorUnits'],
      [{ validFrom: timestampFromDate(later(-1)) }, 'fee_rule_invalid', 'rule.validFrom'],
      [{ validTo: timestampFromDate(NOW) }, 'fee_rule_invalid', 'rule.validTo'],
      [{ slot: slot.name, gateway: 'bank' }, 'fee_rule_invalid', 'rule.gateway'],
      [{ gateway: 'nowhere' }, 'gateway_unknown', 'gateway'],
      [{ slot: 'nowhere' }, 'slot_unknown', 'slot'],
    ] as const) {
      const { message: _, ...refused } = await refusal(
        admin.client.addFeeRule({ rule: { ...valid, ...wrong } }),
      );
      expect(refused, JSON.stringify(wrong, String)).to.deep.equal({ code, field });
    }
    const { rules } = await admin.client.listFeeRules({ includeEnded: true });
    expect(rules.map(({ version, validTo }) => [version, validTo])).to.deep.equal([[1, undefined]]);
    for (const feeRuleId of ['nonsense', 'fee_00000000000000000000000000']) {
      expect(await refusal(admin.client.retireFeeRule({ feeRuleId }))).to.include({
        code: 'fee_rule_unknown',
      });
    }
  });

  it('are not asked about no money, no currency and no slot', async () => {
    const slot = await addSlot(admin);
    const preview = async (name: string, minorUnits: bigint, currency: string) =>
      (await refusal(admin.client.previewFees({ slot: name, amount: { minorUnits, currency } }))).code;
    expect(await preview(slot.name, 0n, 'BDT')).to.equal('amount_invalid');
    expect(await preview(slot.name, -1n, 'BDT')).to.equal('amount_invalid');
    expect(await preview(slot.name, 1n, 'bdt')).to.equal('amount_invalid');
    expect(await preview('nowhere', 1n, 'BDT')).to.equal('slot_unknown');
  });

  async function chargedAt(ms: number, currency = 'BDT') {
    const slotId = '00000000-0000-7000-8000-000000000000';
    const { lines } = await computeFees(admin.db.pool, {
      gateway: 'till',
      slotId,
      amount: { minor: 10_000n, currency },
      at: later(ms),
    });
    return lines.map(({ rule, ruleVersion, amountMinor }) => [rule, ruleVersion, amountMinor]);
  }
});
