import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  applyRules,
  computeFees,
  type FeeRuleFacts,
  type FeeSubject,
  matchRules,
  stateOf,
} from '../../../../core/payment/fees/rules.ts';
import { query } from '../../../support/postgres/databases.ts';
import { addSlot, driverOf } from '../fake-gateway.ts';
import { type PaymentAdmin, startPaymentAdmin } from '../payment-admin.ts';
import { refusal } from '../refusal.ts';
import { feeRules, minorAmount, moment, overlappingRules } from './fee-arbitraries.ts';
import { expectedRule } from './fee-model.ts';

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

  it('use the same rules for every amount, and never decrease for a larger one', () => {
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

describe('fee rules', () => {
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

  it('compute the fees of a payment rule by rule, adding up to the total', async () => {
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

  it('are replaced by their next version when it begins', async () => {
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

  it('are replaced by a version that begins before a planned one', async () => {
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 100 } });
    const planned = { name: 'card', basisPoints: 200, validFrom: timestampFromDate(later(1_000)) };
    await admin.client.addFeeRule({ rule: planned });
    now = later(500);
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 300 } });
    expect(await chargedAt(499)).to.deep.equal([['card', 1, 100n]]);
    expect(await chargedAt(500)).to.deep.equal([['card', 3, 300n]]);
    expect(await chargedAt(1_000)).to.deep.equal([['card', 3, 300n]]);
  });

  it('get consecutive version numbers from concurrent operators', async () => {
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

  it('end once when they are retired', async () => {
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

  it('are refused with the wrong field if they are invalid, and nothing changes', async () => {
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

  it('refuse previews without an amount, a currency or a slot', async () => {
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

const AT = new Date('2026-05-01T12:00:00.000Z');
const PAYMENT: FeeSubject = { gateway: 'till', slotId: 'slot-1', currency: 'BDT', at: AT };

describe('the fee rules that apply to a payment', () => {
  it('are the most specific for each name: slot, then gateway, then currency, then none', () => {
    const scopes = [
      { slotId: 'slot-1', gateway: 'till', currency: 'BDT' },
      { slotId: 'slot-1', gateway: 'till' },
      { gateway: 'till', currency: 'BDT' },
      { gateway: 'till' },
      { currency: 'BDT' },
      {},
    ];
    const rules = scopes.map((scope, index) => rule({ ...scope, id: String(index) }));
    for (const [index] of scopes.entries()) {
      const left = rules.slice(index).reverse();
      expect(matchRules(left, PAYMENT).map(({ id }) => id)).to.deep.equal([String(index)]);
    }
  });

  it('exclude those of another gateway, slot or currency', () => {
    const others = [{ gateway: 'bank' }, { slotId: 'slot-2' }, { currency: 'USD' }].map(rule);
    expect(matchRules(others, PAYMENT)).to.deep.equal([]);
  });

  it('begin and end at exactly the given times', () => {
    const at = (ms: number) => new Date(AT.getTime() + ms);
    const older = rule({ id: 'older', validFrom: at(-9), validTo: AT });
    const newer = rule({ id: 'newer', validFrom: AT });
    const idsAt = (ms: number) => matchRules([older, newer], { ...PAYMENT, at: at(ms) }).map(({ id }) => id);
    expect([idsAt(-10), idsAt(-9), idsAt(-1), idsAt(0)]).to.deep.equal([[], ['older'], ['older'], ['newer']]);
  });

  it('do not depend on the order of the rules, one for each name, by name', () => {
    fc.assert(
      fc.property(feeRules, fc.infiniteStream(fc.nat()), (rules, order) => {
        const shuffled = rules
          .map((entry) => ({ entry, key: order.next().value }))
          .sort((one, other) => one.key - other.key)
          .map(({ entry }) => entry);
        const matched = matchRules(rules, PAYMENT);
        expect(matchRules(shuffled, PAYMENT)).to.deep.equal(matched);
        const names = matched.map(({ name }) => name);
        expect(names).to.deep.equal([...new Set(names)].sort());
      }),
    );
  });

  it('follow the order of docs/how-to/change-fees.md at every moment', () => {
    const payment = fc.record({
      gateway: fc.constant('till'),
      slotId: fc.constantFrom('slot-1', 'slot-2', 'slot-3'),
      currency: fc.constantFrom('BDT', 'USD'),
      at: moment,
    });
    fc.assert(
      fc.property(overlappingRules, payment, (rules, paid) => {
        const expected = ['card', 'tax'].flatMap((name) => {
          const rule = expectedRule(
            rules.filter((each) => each.name === name),
            paid,
          );
          return rule ? [rule.id] : [];
        });
        expect(matchRules(rules, paid).map(({ id }) => id)).to.deep.equal(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('return to the open-ended version when a temporary one ends', () => {
    const at = (ms: number) => new Date(AT.getTime() + ms);
    const open = rule({ id: 'open', version: 1, validFrom: at(-10) });
    const week = rule({ id: 'week', version: 2, validFrom: at(0), validTo: at(7), declaredTo: at(7) });
    const day = rule({ id: 'day', version: 3, validFrom: at(3), validTo: at(4), declaredTo: at(4) });
    const newer = rule({ id: 'newer', version: 4, validFrom: at(5) });
    const older = { ...open, validTo: at(5) };
    const rules = [older, week, day, newer];
    const idAt = (ms: number) => matchRules(rules, { ...PAYMENT, at: at(ms) })[0]?.id;
    expect([-1, 0, 2, 3, 4, 6, 7, 99].map(idAt)).to.deep.equal([
      'open',
      'week',
      'week',
      'day',
      'week',
      'week',
      'newer',
      'newer',
    ]);
    // An open-ended version that was ended early is no temporary one.
    expect(matchRules([{ ...open, validTo: at(1) }, week], { ...PAYMENT, at: at(0) })[0]?.id).to.equal(
      'week',
    );
    const states = (ms: number) => rules.map((each) => stateOf(each, rules, at(ms)));
    expect(states(3)).to.deep.equal(['overridden', 'overridden', 'in_force', 'planned']);
    expect(states(7)).to.deep.equal(['ended', 'ended', 'ended', 'in_force']);
  });
});

function rule(more: Partial<FeeRuleFacts>): FeeRuleFacts {
  return {
    id: 'any',
    name: 'card',
    version: 1,
    gateway: null,
    slotId: null,
    currency: null,
    basisPoints: 100,
    fixedMinor: 0n,
    minMinor: null,
    maxMinor: null,
    validFrom: new Date(0),
    validTo: null,
    declaredTo: null,
    slotsMayOverride: false,
    addedBySlot: false,
    ...more,
  };
}
