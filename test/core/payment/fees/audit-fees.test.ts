// Our fees against those that providers took: by day and rules, the metric, and the rule that is proposed.
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { readFeeDrift } from '../../../../core/payment/fees/drift-metrics.ts';
import { computeFees } from '../../../../core/payment/fees/rules.ts';
import { addSlot, driverOf, payLater, reverse, settle } from '../fake-gateway.ts';
import { type PaymentAdmin, startPaymentAdmin } from '../payment-admin.ts';
import { refusal } from '../refusal.ts';

const NOW = new Date('2026-05-02T12:00:00.000Z');
const DAY_MS = 86_400_000;

describe('the fees that a provider takes', () => {
  let admin: PaymentAdmin;
  before(async () => {
    admin = await startPaymentAdmin({ driverOf, clock: () => NOW });
  });
  after(() => admin.stop());
  beforeEach(() => admin.db.pool.query('truncate usage_log, fee_rule, fee_line'));

  type Slot = Awaited<ReturnType<typeof addSlot>>;

  /** Settles a payment by the rules in force; the provider takes `takenMinor`. */
  async function pay(slot: Slot, amountMinor: bigint, takenMinor: bigint, at = NOW, currency = 'BDT') {
    const amount = { minor: amountMinor, currency: 'BDT' };
    const { lines } = await computeFees(admin.db.pool, {
      gateway: slot.gateway,
      slotId: slot.id,
      amount,
      at: NOW,
    });
    const paid = await settle(admin.db.pool, { slot, amountMinor, currency: 'BDT', settledAt: at, lines });
    await admin.db.pool.query(
      'update usage_log set received_minor = $2, received_currency = $3 where id = $1',
      [paid.usageLogId, amountMinor - takenMinor, currency],
    );
    return paid;
  }
  const period = (from = -2, to = 2) => ({
    from: timestampFromDate(new Date(NOW.getTime() + from * DAY_MS)),
    to: timestampFromDate(new Date(NOW.getTime() + to * DAY_MS)),
  });
  const audit = async (slot?: string, from = -2, to = 2) => {
    const { from: settledFrom, to: settledTo } = period(from, to);
    const { drifts } = await admin.client.auditFees({ ...(slot && { slot }), settledFrom, settledTo });
    return drifts.map(({ $typeName: _, ...drift }) => drift);
  };

  it('are compared by day, rules and currency, once for each payment that says them', async () => {
    const [slot, other] = [await addSlot(admin), await addSlot(admin)];
    await pay(slot, 10_000n, 250n); // no rule yet
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 250 } });
    await pay(slot, 10_000n, 250n);
    await pay(slot, 20_000n, 510n);
    const yesterday = await pay(slot, 30_000n, 700n, new Date(NOW.getTime() - DAY_MS));
    await admin.client.addFeeRule({ rule: { name: 'tax', slot: other.name, basisPoints: 100 } });
    await pay(other, 10_000n, 350n);
    // Not compared: what the provider did not say, or said in another currency, and what stands again.
    await settle(admin.db.pool, { slot, amountMinor: 99n, currency: 'BDT', settledAt: NOW });
    await pay(slot, 10_000n, 1n, NOW, 'USD');
    await reverse(admin.db.pool, yesterday.usageLogId, NOW);
    await payLater(admin.db.pool, yesterday.usageLogId, { same: true, at: NOW });

    const day = { currency: 'BDT', day: '2026-05-02' };
    const first = { ...day, day: '2026-05-01', rules: ['card'], payments: 1n, paidMinorUnits: 30_000n };
    const bare = { ...day, rules: [], payments: 1n, paidMinorUnits: 10_000n, expectedMinorUnits: 0n };
    const card = { ...day, rules: ['card'], payments: 2n, paidMinorUnits: 30_000n, expectedMinorUnits: 750n };
    const both = { ...day, rules: ['card', 'tax'], payments: 1n, paidMinorUnits: 10_000n };
    const ofSlot = [
      { ...first, expectedMinorUnits: 750n, takenMinorUnits: 700n, differingPayments: 1n },
      { ...bare, takenMinorUnits: 250n, differingPayments: 1n },
      { ...card, takenMinorUnits: 760n, differingPayments: 1n },
    ];
    expect(await audit(slot.name)).to.deep.equal(ofSlot);
    expect(await audit()).to.deep.equal([
      ...ofSlot,
      { ...both, expectedMinorUnits: 350n, takenMinorUnits: 350n, differingPayments: 0n },
    ]);
    expect(await audit(slot.name, 1, 2)).to.deep.equal([]);
    expect(await refusal(audit('nowhere'))).to.include({ code: 'slot_unknown' });
    expect(await refusal(audit(undefined, 2, -2))).to.include({ code: 'period_invalid', field: 'settledTo' });
  });

  it('are a metric for each slot, from 20 payments of the last day on', async () => {
    const [slot, few] = [await addSlot(admin), await addSlot(admin)];
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 250 } });
    for (let index = 0; index < 20; index++) await pay(slot, 10_000n, index % 2 === 0 ? 260n : 240n);
    for (let index = 0; index < 19; index++) await pay(few, 10_000n, 999n);
    await pay(few, 10_000n, 999n, new Date(NOW.getTime() - DAY_MS));
    const client = await admin.db.pool.connect();
    try {
      expect(await readFeeDrift(client, NOW)).to.deep.equal([{ labels: { slot: slot.name }, value: 0.001 }]);
    } finally {
      client.release();
    }
  });

  it('propose a rule that charges them together with the rules of other names', async () => {
    const slot = await addSlot(admin);
    await admin.client.addFeeRule({ rule: { name: 'card', basisPoints: 200 } });
    await admin.client.addFeeRule({ rule: { name: 'tax', basisPoints: 100 } });
    const amounts = [10_000n, 40_000n, 90_000n, 1_000_000n, 1_234_567n];
    for (const amount of amounts)
      await pay(slot, amount, (amount * 275n + 5_000n) / 10_000n + (amount * 100n + 5_000n) / 10_000n + 300n);
    const { fits } = await admin.client.fitFeeRule({ rule: { name: 'card', slot: slot.name }, ...period() });
    const [fit, ...others] = fits;
    expect(others).to.deep.equal([]);
    expect(fit?.rule).to.include({
      name: 'card',
      slot: slot.name,
      currency: 'BDT',
      basisPoints: 275,
      fixedMinorUnits: 300n,
    });
    expect(fit?.rule?.minMinorUnits).to.equal(undefined);
    expect(fit).to.include({ payments: 5n, exactPayments: 5n, errorMinorUnits: 0n, ambiguous: false });
    expect(fit?.takenMinorUnits).to.equal(fit?.wouldChargeMinorUnits);
    expect(fit?.chargedErrorMinorUnits).to.equal(
      (fit?.takenMinorUnits ?? 0n) - (fit?.chargedMinorUnits ?? 0n),
    );

    const elsewhere = await admin.client.fitFeeRule({ rule: { name: 'card', gateway: 'bank' }, ...period() });
    expect(elsewhere.fits).to.deep.equal([]);
    const { from } = period();
    const backwards = admin.client.fitFeeRule({ rule: { name: 'card' }, from, to: from });
    expect(await refusal(backwards)).to.include({ code: 'fee_rule_invalid', field: 'to' });
  });
});
