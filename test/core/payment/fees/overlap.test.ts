// Fee rules that overlap: settlement, previews and backtests agree on which one applies, at every moment.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import fc from 'fast-check';
import { computeFees, type FeeSubject } from '../../../../core/payment/fees/rules.ts';
import { FeeRuleState } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { addSlot, driverOf, settle } from '../fake-gateway.ts';
import { type PaymentAdmin, startPaymentAdmin } from '../payment-admin.ts';
import { refusal } from '../refusal.ts';
import { expectedRule } from './fee-model.ts';

const NOW = new Date('2026-05-01T12:00:00.000Z');
const END = 40;
const later = (ms: number) => new Date(NOW.getTime() + ms);

type Slot = Awaited<ReturnType<typeof addSlot>>;
type Client = PaymentAdmin['client'];
type Rule = NonNullable<Parameters<Client['addFeeRule']>[0]['rule']>;

/** A rule as the model keeps it. Ends of its own making: what was replaced or retired. */
type Known = {
  readonly feeRuleId: string;
  readonly version: number;
  readonly gateway: string | null;
  readonly slotId: string | null;
  readonly currency: null;
  readonly validFrom: Date;
  readonly declaredTo: Date | null;
  readonly slotsMayOverride: boolean;
  readonly addedBySlot: boolean;
  readonly basisPoints: number;
  validTo: Date | null;
};

const operation = fc.record({
  atMs: fc.integer({ min: 0, max: 20 }),
  retires: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, fc.nat(10)),
  by: fc.constantFrom('operator', 'slot'),
  scope: fc.constantFrom('any', 'gateway', 'slot'),
  inMs: fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 10 })),
  lastsMs: fc.oneof(fc.constant(undefined), fc.integer({ min: 1, max: 10 })),
  slotsMayOverride: fc.boolean(),
});

describe('overlapping fee rules', () => {
  let admin: PaymentAdmin;
  let slot: Slot;
  let other: Slot;
  let limited: Client;
  let now = NOW;
  before(async () => {
    admin = await startPaymentAdmin({ driverOf, clock: () => now });
    [slot, other] = [await addSlot(admin), await addSlot(admin)];
    limited = admin.limitedTo(slot.name);
  });
  after(() => admin.stop());
  beforeEach(async () => {
    now = NOW;
    await admin.db.pool.query('truncate usage_log, fee_rule, fee_line');
  });

  it('select the expected winner at every moment in settlement, previews and backtests', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 2, maxLength: 8 }), async (operations) => {
        await admin.db.pool.query('truncate usage_log, fee_rule, fee_line');
        const known: Known[] = [];
        const inOrder = operations.toSorted((one, two) => one.atMs - two.atMs);
        for (const [
          index,
          { atMs, retires, by, scope, inMs, lastsMs, slotsMayOverride },
        ] of inOrder.entries()) {
          now = later(atMs);
          const isLimited = by === 'slot';
          const client = isLimited ? limited : admin.client;
          if (retires !== null && known.length > 0) {
            const rule = known[retires % known.length];
            if (rule) await retire(client, rule, isLimited);
            continue;
          }
          const validFrom = later(atMs + (inMs ?? 0));
          const declaredTo = lastsMs === undefined ? null : new Date(validFrom.getTime() + lastsMs);
          const isOfSlot = isLimited || scope === 'slot';
          await add(client, known, {
            gateway: isOfSlot || scope === 'gateway' ? 'till' : null,
            slotId: isOfSlot ? slot.id : null,
            currency: null,
            validFrom,
            declaredTo,
            validTo: declaredTo,
            slotsMayOverride: slotsMayOverride && !isLimited,
            addedBySlot: isLimited,
            basisPoints: (index + 1) * 100,
          });
        }
        for (let ms = 0; ms < END; ms += 3) {
          for (const place of [slot, other]) await expectAgreement(known, place, later(ms));
        }
        await expectBacktests(known);
      }),
      { numRuns: 12, endOnFailure: true },
    );
  });

  it('apply a temporary rule while it is valid, then the open-ended one again', async () => {
    const open = await addRule({ name: 'card', basisPoints: 100 });
    now = later(10);
    const sale = await addRule({ name: 'card', basisPoints: 0, validTo: timestampFromDate(later(20)) });
    expect([open?.version, sale?.version]).to.deep.equal([1, 2]);
    expect([await charged(9), await charged(10), await charged(19), await charged(20)]).to.deep.equal([
      100n,
      0n,
      0n,
      100n,
    ]);
    const states = async () =>
      (await admin.client.listFeeRules({})).rules.map(({ version, state }) => [version, state]);
    expect(await states()).to.deep.equal([
      [2, FeeRuleState.IN_FORCE],
      [1, FeeRuleState.OVERRIDDEN],
    ]);
    now = later(20);
    expect(await states()).to.deep.equal([[1, FeeRuleState.IN_FORCE]]);
  });

  it('end the open-ended version when the next one begins, but not a temporary one', async () => {
    await addRule({ name: 'card', basisPoints: 100 });
    const temporary = { validFrom: timestampFromDate(later(5)), validTo: timestampFromDate(later(20)) };
    await addRule({ name: 'card', basisPoints: 200, ...temporary });
    await addRule({ name: 'card', basisPoints: 300, validFrom: timestampFromDate(later(10)) });
    expect(await Promise.all([4, 5, 10, 19, 20].map((ms) => charged(ms)))).to.deep.equal([
      100n,
      200n,
      200n,
      200n,
      300n,
    ]);
  });

  it('select the same rule in backtests as in settlement', async () => {
    await addRule({ name: 'card', basisPoints: 100 });
    now = later(10);
    await addRule({ name: 'card', basisPoints: 50, validTo: timestampFromDate(later(20)) });
    for (const ms of [5, 15, 25]) await payAt(slot, later(ms));
    const result = await backtest(admin.client, { name: 'card', basisPoints: 300 });
    expect(result).to.deep.equal({ payments: 2n, charged: 200n, would: 600n });
  });

  describe('of a slot', () => {
    it('are refused if the applicable rule does not allow slots to override it', async () => {
      await addRule({ name: 'card', basisPoints: 100 });
      const own = { name: 'card', slot: slot.name, basisPoints: 0 };
      expect(await refusal(limited.addFeeRule({ rule: own }))).to.include({
        code: 'fee_rule_locked',
        field: 'rule.name',
      });
      expect(await charged(0)).to.equal(100n);
      await addRule({ name: 'card', basisPoints: 100, slotsMayOverride: true });
      expect((await limited.addFeeRule({ rule: own })).rule).to.include({
        addedBySlot: true,
        state: FeeRuleState.IN_FORCE,
      });
      expect([await charged(0), await charged(0, other)]).to.deep.equal([0n, 100n]);
    });

    it('stop applying when a rule of the same name without slot overrides is added', async () => {
      const { rule } = await limited.addFeeRule({ rule: { name: 'card', slot: slot.name, basisPoints: 10 } });
      expect(await charged(0)).to.equal(10n);
      now = later(1);
      await addRule({ name: 'card', basisPoints: 100 });
      expect([await charged(0), await charged(1)]).to.deep.equal([10n, 100n]);
      const { rules } = await limited.listFeeRules({ slot: slot.name });
      expect(rules.map(({ feeRuleId, state }) => [feeRuleId, state])).to.deep.include([
        rule?.feeRuleId,
        FeeRuleState.OVERRIDDEN,
      ]);
      // A rule that an operator adds for the slot wins as ever.
      await addRule({ name: 'card', slot: slot.name, basisPoints: 20 });
      expect(await charged(1)).to.equal(20n);
    });

    it('can be changed by limited tokens only if one added them or an operator allows it', async () => {
      const locked = await addRule({ name: 'card', slot: slot.name, basisPoints: 100 });
      const retireCard = (feeRuleId = '') => limited.retireFeeRule({ feeRuleId });
      expect(await refusal(retireCard(locked?.feeRuleId))).to.include({
        code: 'fee_rule_locked',
        field: 'feeRuleId',
      });
      const next = { name: 'card', slot: slot.name, basisPoints: 1 };
      expect(await refusal(limited.addFeeRule({ rule: next }))).to.include({ code: 'fee_rule_locked' });
      const opens = { ...next, slotsMayOverride: true };
      expect(await refusal(limited.addFeeRule({ rule: opens }))).to.include({
        code: 'fee_rule_invalid',
        field: 'rule.slotsMayOverride',
      });
      const open = await addRule({ ...opens, basisPoints: 100 });
      const replacing = (await limited.addFeeRule({ rule: next })).rule;
      expect(await charged(0)).to.equal(1n);
      for (const rule of [open, replacing]) await retireCard(rule?.feeRuleId);
    });

    it('are listed with the rules for any slot, without those of other slots', async () => {
      await addRule({ name: 'a', basisPoints: 1 });
      await addRule({ name: 'b', gateway: 'till', basisPoints: 1 });
      await addRule({ name: 'c', gateway: 'bank', basisPoints: 1 });
      await addRule({ name: 'd', slot: slot.name, basisPoints: 1 });
      await addRule({ name: 'e', slot: other.name, basisPoints: 1 });
      const { rules } = await limited.listFeeRules({ slot: slot.name });
      expect(rules.map(({ name }) => name)).to.deep.equal(['a', 'b', 'd']);
    });

    it("do not reveal names of other slots' rules in a backtest", async () => {
      await addRule({ name: 'secret', slot: other.name, basisPoints: 1 });
      await addRule({ name: 'known', basisPoints: 1 });
      const isNew = async (name: string) => {
        const period = { from: timestampFromDate(NOW), to: timestampFromDate(later(END)) };
        return (await limited.backtestFeeRule({ rule: { name, slot: slot.name }, ...period })).ruleIsNew;
      };
      expect([
        await isNew('secret'),
        await isNew('no such'.replace(' ', '-')),
        await isNew('known'),
      ]).to.deep.equal([true, true, false]);
    });
  });

  async function addRule(rule: Rule) {
    return (await admin.client.addFeeRule({ rule })).rule;
  }

  /** What a payment of 10 000 costs that is settled then. */
  async function charged(ms: number, place: Slot = slot) {
    return (await feesAt(place, later(ms))).totalMinor;
  }

  function feesAt(place: Slot, at: Date) {
    const amount = { minor: 10_000n, currency: 'BDT' };
    return computeFees(admin.db.pool, { gateway: place.gateway, slotId: place.id, amount, at });
  }

  async function payAt(place: Slot, at: Date) {
    const { lines } = await feesAt(place, at);
    await settle(admin.db.pool, {
      slot: place,
      amountMinor: 10_000n,
      currency: 'BDT',
      settledAt: at,
      lines,
    });
  }

  async function backtest(client: Client, rule: Rule) {
    const period = { from: timestampFromDate(NOW), to: timestampFromDate(later(END)) };
    const [found] = (await client.backtestFeeRule({ rule, ...period })).currencies;
    const { payments = 0n, chargedMinorUnits = 0n, wouldChargeMinorUnits = 0n } = found ?? {};
    return { payments, charged: chargedMinorUnits, would: wouldChargeMinorUnits };
  }

  /** Adds a rule to the hub and to the model, unless the hub refuses it; it may only where the rule is locked. */
  async function add(
    client: Client,
    known: Known[],
    rule: Omit<Known, 'feeRuleId' | 'version'>,
  ): Promise<void> {
    const subject = {
      gateway: rule.gateway ?? '',
      slotId: rule.slotId ?? '',
      currency: '',
      at: rule.validFrom,
    };
    const central = expectedRule(
      known.filter(({ addedBySlot }) => !addedBySlot),
      subject,
    );
    const request: Rule = {
      name: 'card',
      gateway: rule.gateway ?? '',
      slot: rule.slotId === null ? '' : slot.name,
      basisPoints: rule.basisPoints,
      validFrom: timestampFromDate(rule.validFrom),
      ...(rule.declaredTo && { validTo: timestampFromDate(rule.declaredTo) }),
      slotsMayOverride: rule.slotsMayOverride,
    };
    if (rule.addedBySlot && central && !central.slotsMayOverride) {
      expect(await refusal(client.addFeeRule({ rule: request }))).to.include({ code: 'fee_rule_locked' });
      return;
    }
    const added = (await client.addFeeRule({ rule: request })).rule;
    if (rule.declaredTo === null) {
      for (const older of known) {
        const isSame = older.gateway === rule.gateway && older.slotId === rule.slotId;
        const mayEnd = !rule.addedBySlot || older.addedBySlot || older.slotsMayOverride;
        if (isSame && mayEnd && older.declaredTo === null) endAt(older, rule.validFrom);
      }
    }
    known.push({ ...rule, feeRuleId: added?.feeRuleId ?? '', version: added?.version ?? 0 });
  }

  async function retire(client: Client, rule: Known, isLimited: boolean): Promise<void> {
    const { feeRuleId } = rule;
    if (isLimited && !rule.addedBySlot && !rule.slotsMayOverride) {
      expect(await refusal(client.retireFeeRule({ feeRuleId }))).to.include({ code: 'fee_rule_locked' });
      return;
    }
    await client.retireFeeRule({ feeRuleId });
    endAt(rule, now);
  }

  function endAt(rule: Known, at: Date): void {
    if (rule.validTo === null || rule.validTo > at) rule.validTo = at;
  }

  async function expectAgreement(known: readonly Known[], place: Slot, at: Date): Promise<void> {
    const expected = expectedRule(known, subjectOf(place, at));
    const expectedMinor = BigInt(expected?.basisPoints ?? 0);
    const settled = (await feesAt(place, at)).totalMinor;
    expect(settled, `settled at ${at.toISOString()}`).to.equal(expectedMinor);
    now = at;
    const amount = { minorUnits: 10_000n, currency: 'BDT' };
    const { feeTotal } = await admin.client.previewFees({ slot: place.name, amount });
    expect(feeTotal?.minorUnits, `preview at ${at.toISOString()}`).to.equal(expectedMinor);
    await payAt(place, at);
  }

  /** A candidate of each scope wins exactly the payments that the model gives it. */
  async function expectBacktests(known: readonly Known[]): Promise<void> {
    const candidates = [
      { client: admin.client, rule: {}, gateway: null, slotId: null },
      { client: admin.client, rule: { gateway: 'till' }, gateway: 'till', slotId: null },
      { client: admin.client, rule: { slot: slot.name }, gateway: 'till', slotId: slot.id },
      { client: limited, rule: { slot: slot.name }, gateway: 'till', slotId: slot.id },
    ];
    for (const { client, rule, gateway, slotId } of candidates) {
      const candidate: Known = {
        feeRuleId: 'candidate',
        version: 1_000,
        gateway,
        slotId,
        currency: null,
        validFrom: NOW,
        validTo: null,
        declaredTo: null,
        slotsMayOverride: false,
        addedBySlot: client === limited,
        basisPoints: 700,
      };
      let payments = 0n;
      for (let ms = 0; ms < END; ms += 3) {
        for (const place of [slot, other]) {
          const winner = expectedRule([...known, candidate], subjectOf(place, later(ms)));
          if (winner === candidate) payments++;
        }
      }
      const found = await backtest(client, { name: 'card', basisPoints: 700, ...rule });
      expect(found, JSON.stringify(rule)).to.include({ payments, would: payments * 700n });
    }
  }

  function subjectOf({ gateway, id }: Slot, at: Date): FeeSubject {
    return { gateway, slotId: id, currency: 'BDT', at };
  }
});
