// hubctl usage reconcile: a random plan through the simulator, whose books agree, and every kind of difference.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import fc from 'fast-check';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { ChargeStatus, SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { RefundState } from '../../../gen/hub/payment/v1/refund_pb.ts';
import { RefundService } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { until } from '../../support/until.ts';
import { hubctlHere } from '../run-here.ts';

const GATEWAYS = ['gateway_one', 'gateway_two', 'stripe'] as const;
type Gateway = (typeof GATEWAYS)[number];

const HOUR_MS = 3_600_000;

describe('hubctl usage reconcile', () => {
  let hub: TestHub;
  let simulator: Simulator;
  let payments: Client<typeof PaymentService>;
  let refunds: Client<typeof RefundService>;
  const statements = new Map<Gateway, string>();

  const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();
  /** Compares a statement with the entries of the gateway's slot, over days around now. */
  const reconcile = async (gateway: Gateway, csv: string, ...more: string[]) => {
    const path = join(hub.dataDir, `${gateway}.csv`);
    await writeFile(path, csv);
    const period = more.includes('--from') ? [] : ['--from', inHours(-48), '--to', inHours(48)];
    const words = ['--statement', path, '--profile', gateway, '--slot', gateway.replace('_', '-')];
    const printed = await hubctlHere(
      ['usage', 'reconcile', ...words, ...period, ...more, '--output', 'json'],
      {
        HUBCTL_SERVER: hub.rpcUrl,
        HUBCTL_TOKEN: hub.token,
      },
    );
    return { code: printed.code, stderr: printed.stderr, ...JSON.parse(printed.stdout || '{}') };
  };

  before(async () => {
    [hub, simulator] = await Promise.all([startHub(), startSimulator({ port: 0 })]);
    payments = createClient(PaymentService, hub.transport);
    refunds = createClient(RefundService, hub.transport);
    const admin = createClient(PaymentAdminService, hub.transport);
    for (const gateway of GATEWAYS) {
      await admin.addSlot({
        name: gateway.replace('_', '-'),
        gateway,
        environment: SlotEnvironment.SANDBOX,
        baseUrl: simulator.urls[gateway],
        credentials: { ...simulator.credentials[gateway] },
      });
    }
    const outcome = fc.constantFrom('paid', 'paid', 'refunded', 'reversed', 'failed', 'cancelled', 'open');
    const step = fc.record({
      gateway: fc.constantFrom(...GATEWAYS),
      minor: fc.integer({ min: 1, max: 5_000_000 }),
      outcome,
    });
    const random = fc.sample(step, { numRuns: 16 });
    // At least two payments and a reversal of each gateway, so that there is something to change.
    const sure = GATEWAYS.flatMap((gateway) =>
      (['paid', 'paid', 'reversed', 'refunded'] as const).map((what) => ({
        gateway,
        minor: 12_345,
        outcome: what,
      })),
    );
    for (const each of [...random, ...sure]) await play(each);
    for (const gateway of GATEWAYS) statements.set(gateway, await download(gateway));
  });
  after(async () => {
    await hub?.stop();
    await simulator?.close();
  });

  async function play({ gateway, minor, outcome }: { gateway: Gateway; minor: number; outcome: string }) {
    const amount = { minorUnits: BigInt(minor), currency: 'BDT' };
    const slot = gateway.replace('_', '-');
    const { session } = await payments.createChargeSession({ slot, amount, orderReference: 'ORD-1' });
    const { sessionId = '', providerPaymentId: ref = '' } = session ?? {};
    const isNow = (status: ChargeStatus) =>
      until(
        async () => (await payments.getChargeSession({ sessionId })).session?.status === status,
        'it is settled',
      );
    if (outcome === 'failed') return simulator.fail(ref);
    if (outcome === 'cancelled') return simulator.cancel(ref);
    if (outcome === 'open') return;
    simulator.pay(ref);
    await isNow(ChargeStatus.SUCCESS);
    // Stripe has disputes instead of reversals.
    if (outcome === 'reversed' && gateway === 'stripe') {
      simulator.stripe.dispute(ref);
      simulator.stripe.closeDispute(ref, 'lost');
      return until(
        async () =>
          (await payments.getChargeSession({ sessionId })).session?.refunded?.minorUnits === BigInt(minor),
        'the dispute is recorded',
      );
    }
    if (outcome === 'refunded') {
      const { refund } = await refunds.createRefund({
        sessionId,
        amount: { ...amount, minorUnits: 1n },
        reason: 'broken',
      });
      const refundId = refund?.refundId ?? '';
      return until(
        async () => (await refunds.getRefund({ refundId })).refund?.state === RefundState.SUCCEEDED,
        'refunded',
      );
    }
    if (outcome !== 'reversed') return;
    simulator.reverse(ref);
    await payments.recheckChargeSession({ sessionId });
    await isNow(ChargeStatus.CANCELLED);
  }

  /** As an operator downloads it. */
  async function download(gateway: Gateway): Promise<string> {
    const response = await fetch(`${simulator.url}/_control/statement`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ gateway }),
    });
    return ((await response.json()) as { csv: string }).csv;
  }

  const statementOf = (gateway: Gateway) => statements.get(gateway) ?? expect.fail('no statement');
  const linesOf = (gateway: Gateway) => statementOf(gateway).trimEnd().split('\r\n');

  for (const gateway of GATEWAYS) {
    it(`agrees with the statement of ${gateway}`, async () => {
      const found = await reconcile(gateway, statementOf(gateway));
      expect(found).to.include({ code: 0, agrees: true, stderr: '', matched: linesOf(gateway).length - 1 });
      const none = { missingHere: [], missingThere: [], differs: [], atEdge: [] };
      expect(found).to.deep.include(none);
      expect(found.feesNotCompared === 0, 'only gateway_two does not say what it keeps').to.equal(
        gateway !== 'gateway_two',
      );
    });

    it(`finds a line that is missing on either side of ${gateway}`, async () => {
      const [header = '', first = '', ...others] = linesOf(gateway);
      const shorter = await reconcile(gateway, [header, ...others].join('\n'));
      expect(shorter).to.include({
        code: 5,
        agrees: false,
        missingThereCount: 1,
        missingHereCount: 0,
        differsCount: 0,
      });
      expect(shorter.stderr).to.include('"code":"books_differ"');
      const { gatewayTransactionId } = shorter.missingThere[0];
      expect(first).to.include(gatewayTransactionId);

      const strange = first.replaceAll(gatewayTransactionId, 'STRANGE').replace(/^01[A-Z0-9]{24},/, 'OTHER,');
      const longer = await reconcile(gateway, [header, first, strange, ...others].join('\n'));
      expect(longer).to.include({ code: 5, missingThereCount: 0, missingHereCount: 1, differsCount: 0 });
      expect(longer.missingHere[0]).to.include({ line: 3, kind: 'payment', currency: 'BDT' });

      const twice = await reconcile(gateway, [header, first, first, ...others].join('\n'));
      expect(twice, 'the same line twice').to.include({ code: 5, missingHereCount: 1 });
    });
  }

  it('does not report a dispute that was won, unlike one that is open', async () => {
    const [header = '', charge = '', ...others] = linesOf('stripe');
    const [, intent, time] = charge.split(',');
    const lineOf = (category: string, gross: string) =>
      `du_won,${intent},${time},${category},${gross},0.00,${gross},bdt`;
    const taken = lineOf('dispute', '-123.45');
    const returned = lineOf('dispute_reversal', '123.45');
    const won = await reconcile('stripe', [header, returned, charge, ...others, taken].join('\n'));
    expect(won).to.include({ code: 0, agrees: true, matched: linesOf('stripe').length - 1 });
    const open = await reconcile('stripe', [header, charge, ...others, taken].join('\n'));
    expect(open).to.include({ code: 5, missingHereCount: 1, missingThereCount: 0 });
    expect(open.missingHere[0]).to.include({ id: 'du_won', kind: 'reversal' });
  });

  it('leaves the line of a refund to its entry if the line of a reversal is missing', async () => {
    const ref = simulator
      .payments()
      .find(
        ({ gateway, state, amount }) =>
          gateway === 'gateway_one' && state === 'reversed' && amount.minor === 12_345n,
      );
    const [header = '', ...lines] = linesOf('gateway_one');
    const isReversal = (line: string) =>
      line.startsWith(ref?.merchantTransactionId ?? '-') && line.includes(',reversal,');
    const reversal = lines.find(isReversal) ?? expect.fail('no reversal');
    // As for a payment that was refunded in part before.
    const part = reversal
      .replace(',reversal,REVERSED,', ',refund,REFUNDED,')
      .replaceAll(/\d+\.\d\d/g, '0.01');
    const found = await reconcile(
      'gateway_one',
      [header, part, ...lines.filter((line) => line !== reversal)].join('\n'),
    );
    expect(found).to.include({ code: 5, differsCount: 0, missingThereCount: 1, missingHereCount: 1 });
    expect(found.missingThere[0]).to.include({ kind: 'reversal' });
  });

  it('finds another amount, currency and fee, with both values', async () => {
    const [header = '', ...lines] = linesOf('gateway_one');
    const place = (column: string) => header.split(',').indexOf(column);
    const changed = (column: string, value: (before: string) => string) => {
      const index = lines.findIndex((line) => line.includes(',payment,'));
      const cells = lines[index]?.split(',') ?? [];
      cells[place(column)] = value(cells[place(column)] ?? '');
      return [header, ...lines.with(index, cells.join(','))].join('\n');
    };
    const more = (before: string) => (Number(before) + 0.01).toFixed(2);
    const amount = await reconcile('gateway_one', changed('currency_amount', more));
    expect(amount).to.include({ code: 5, differsCount: 1 });
    const [difference] = amount.differs;
    expect(difference).to.include({ field: 'amount' });
    expect(difference.there.minorUnits - difference.here.minorUnits).to.equal(1);

    const currency = await reconcile(
      'gateway_one',
      changed('currency_type', () => 'USD'),
    );
    expect(currency.differs[0]).to.deep.include({ field: 'currency' });
    expect(currency.differs[0].there).to.include({ currency: 'USD' });

    const fee = await reconcile('gateway_one', changed('store_amount', more));
    expect(fee.differs[0]).to.deep.include({ field: 'fee' });
    expect(fee.differs[0].here.minorUnits - fee.differs[0].there.minorUnits).to.equal(1);
    expect(await reconcile('gateway_one', changed('store_amount', more), '--fees', 'none')).to.include({
      code: 0,
    });
    // No fee rule says what the provider keeps.
    expect(await reconcile('gateway_one', statementOf('gateway_one'), '--fees', 'rules')).to.include({
      code: 5,
    });
  });

  it('lists an entry near an end of the period apart, because the other statement may have it', async () => {
    const [header = '', , ...others] = linesOf('gateway_one');
    const csv = [header, ...others].join('\n');
    const period = ['--from', inHours(-0.5), '--to', inHours(48)];
    expect(await reconcile('gateway_one', csv, ...period)).to.include({
      code: 0,
      agrees: true,
      atEdgeCount: 1,
    });
    expect(await reconcile('gateway_one', csv, ...period, '--tolerance', '0m')).to.include({
      code: 5,
      atEdgeCount: 0,
      missingThereCount: 1,
    });
    // Of a period that is over: the lines are outside of it.
    const earlier = await reconcile('gateway_one', csv, '--from', inHours(-48), '--to', inHours(-24));
    expect(earlier).to.include({ code: 0, missingHereCount: 0, missingThereCount: 0 });
  });

  it('needs the slot of a limited token, and no other', async () => {
    const path = join(hub.dataDir, 'limited.csv');
    await writeFile(path, statementOf('gateway_two'));
    const env = { HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token };
    const words = ['token', 'create', '--role', 'viewer', '--slot', 'gateway-two', '--output', 'json'];
    const { token } = JSON.parse((await hubctlHere(words, env)).stdout);
    const period = ['--from', inHours(-48), '--to', inHours(48)];
    const run = async (...slot: string[]) => {
      const at = ['--statement', path, '--profile', 'gateway_two', ...period, ...slot];
      return (await hubctlHere(['usage', 'reconcile', ...at], { ...env, HUBCTL_TOKEN: token })).code;
    };
    expect(await run('--slot', 'gateway-two')).to.equal(0);
    // As if there were no such slot.
    expect(await run('--slot', 'gateway-one')).to.equal(1);
    expect(await run()).to.equal(4);
  });

  it('prints a table for people, and refuses a wrong command line with code 2', async () => {
    const path = join(hub.dataDir, 'table.csv');
    const [header = '', , ...others] = linesOf('gateway_two');
    await writeFile(path, [header, ...others].join('\n'));
    const run = (...words: string[]) =>
      hubctlHere(['usage', 'reconcile', ...words], { HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
    const period = ['--from', inHours(-48), '--to', inHours(48)];
    const table = await run('--statement', path, '--profile', 'gateway_two', ...period);
    expect(table.code).to.equal(5);
    expect(table.stdout)
      .to.match(/^FINDING +LINE +USAGE LOG .*\nmissing there +- +use_/)
      .and.match(/\nMissing there +1\n/);
    expect(table.stderr).to.include('The books do not agree: 1 findings.');
    for (const words of [
      ['--statement', path],
      ['--statement', join(hub.dataDir, 'nowhere.csv'), '--profile', 'stripe'],
      ['--statement', path, '--profile', 'nowhere'],
      ['--statement', path, '--profile', 'gateway_two', '--tolerance', 'long'],
      ['--statement', path, '--profile', 'gateway_two', '--from', '2026-02-01', '--to', '2026-01-01'],
    ]) {
      expect((await run(...words)).code, words.join(' ')).to.equal(2);
    }
  });
});
