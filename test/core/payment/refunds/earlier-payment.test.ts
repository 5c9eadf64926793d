// Refunds of a payment that was reversed, in a session that another payment has paid since.
import { expect } from 'chai';
import { parseId } from '../../../../core/ids.ts';
import { type ChargeSession, SlotEnvironment } from '../../../../gen/hub/payment/v1/payment_pb.ts';
import { RefundState } from '../../../../gen/hub/payment/v1/refund_pb.ts';
import { type GatewayName, statusOf, untilStatus } from '../../../support/hub/payment.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import {
  json,
  type Received,
  raw,
  type ScriptedProvider,
  startScriptedProvider,
} from '../providers/scripted-provider.ts';
import {
  bdt,
  booksOf,
  DAY_MS,
  MINUTE_MS,
  type RefundScene,
  refundsOf,
  startRefunds,
  untilSummary,
} from './refund-scene.ts';

const NOTHING_LEFT = 'only 0.00 BDT of it was left of the payment';

describe('a refund of an earlier payment', () => {
  let scene: RefundScene;
  let provider: ScriptedProvider;
  before(async () => {
    scene = await startRefunds();
  });
  after(() => scene.stop());
  beforeEach(async () => {
    provider = await startScriptedProvider();
  });
  afterEach(() => provider.close());

  const addSlot = async (name: string, gateway: GatewayName): Promise<void> => {
    await scene.admin.addSlot({
      name,
      gateway,
      environment: SlotEnvironment.SANDBOX,
      baseUrl: provider.url,
      credentials: scene.simulator.credentials[gateway],
    });
  };
  const create = async (slot: string): Promise<ChargeSession> => {
    const request = { slot, amount: bdt(10_000n), orderReference: 'ORD-1' };
    const { session } = await scene.sessions.createChargeSession(request);
    return session ?? expect.fail('no session');
  };
  const recheck = async (session: ChargeSession, status: 'success' | 'cancelled'): Promise<void> => {
    await scene.sessions.recheckChargeSession({ sessionId: session.sessionId });
    expect(await statusOf(scene, session)).to.equal(status);
  };
  const refund = async ({ sessionId }: ChargeSession, minor?: bigint): Promise<void> => {
    const amount = minor === undefined ? {} : { amount: bdt(minor) };
    await scene.refunds.createRefund({ sessionId, reason: 'returned', ...amount });
  };

  describe('at gateway_one', () => {
    type Attempt = {
      readonly val_id: string;
      readonly status: 'VALID' | 'REVERSED';
      /** The end of the bank's id. Default: `val_id`. */
      readonly bank?: string;
    };
    /** The attempts to pay, as the transaction query lists them. */
    let attempts: readonly Attempt[];
    /** The status of all refunds. */
    let refundStatus: 'processing' | 'refunded';
    let losesAnswers: boolean;
    /** The bank's id of the payment, by the id of the refund. */
    let made: Map<string, string>;
    let slots = 0;
    let session: ChargeSession;

    beforeEach(async () => {
      attempts = [{ val_id: 'FIRST', status: 'VALID' }];
      refundStatus = 'refunded';
      losesAnswers = false;
      made = new Map();
      provider.on('/gwprocess/v4/api.php', (response, entry) => {
        const sessionkey = new URLSearchParams(entry.body).get('tran_id');
        const GatewayPageURL = 'http://provider.example/pay';
        return json({ status: 'SUCCESS', sessionkey, GatewayPageURL })(response, entry);
      });
      provider.on('/validator/api/merchantTransIDvalidationAPI.php', (response, entry) =>
        answerTo(entry)(response, entry),
      );
      slots += 1;
      await addSlot(`store-${slots}`, 'gateway_one');
      session = await create(`store-${slots}`);
      await recheck(session, 'success');
    });

    const answerTo = ({ query: asked }: Received) => {
      const done = { APIConnect: 'DONE' };
      const prefixed = (id: string) => `${id}-${session.merchantTransactionId}`;
      const refundId = asked.get('refund_ref_id');
      if (refundId !== null) {
        const bank_tran_id = made.get(refundId);
        return json({ ...done, refund_ref_id: refundId, bank_tran_id, status: refundStatus });
      }
      if (asked.has('refund_amount')) {
        if (losesAnswers) return raw(200, '');
        const [refund_ref_id, bank_tran_id] = [prefixed(`REF-${made.size}`), asked.get('bank_tran_id') ?? ''];
        made.set(refund_ref_id, bank_tran_id);
        return json({ ...done, refund_ref_id, bank_tran_id, status: 'success' });
      }
      const tran_id = asked.get('tran_id') ?? '';
      const element = attempts.map(({ val_id, status, bank = val_id }) => ({
        tran_id,
        status,
        val_id: `${val_id}-${tran_id}`,
        bank_tran_id: `BANK-${bank}-${tran_id}`,
        amount: '100.00',
        currency: 'BDT',
      }));
      return json({ ...done, no_of_trans_found: `${element.length}`, element });
    };

    const payAgain = async (): Promise<void> => {
      attempts = [{ val_id: 'FIRST', status: 'REVERSED' }];
      await recheck(session, 'cancelled');
      attempts = [{ val_id: 'SECOND', status: 'VALID' }, ...attempts];
      await recheck(session, 'success');
    };

    it('does not stop the refunds and the reversal of the present payment', async () => {
      const { sessionId } = session;
      await refund(session, 2_500n);
      await untilSummary(scene, sessionId, ['succeeded 2500 hub']);
      await payAgain();
      await refund(session, 3_000n);
      await untilSummary(scene, sessionId, ['succeeded 2500 hub', 'succeeded 3000 hub']);
      expect(await booksOf(scene, sessionId)).to.deep.equal({
        amounts: [10_000n, -2_500n, -7_500n, 10_000n, -3_000n],
        refunded: 3_000n,
      });
      attempts = attempts.map((attempt) => ({ ...attempt, status: 'REVERSED' }));
      scene.clock.aheadMs += DAY_MS;
      await untilStatus(scene, session, 'cancelled');
    });

    it('is subtracted from its own payment only, when payments become valid again', async () => {
      const { sessionId } = session;
      await refund(session, 2_500n);
      await untilSummary(scene, sessionId, ['succeeded 2500 hub']);
      await payAgain();
      await refund(session, 4_000n);
      await untilSummary(scene, sessionId, ['succeeded 2500 hub', 'succeeded 4000 hub']);
      const reverseAll = async (): Promise<void> => {
        attempts = attempts.map((attempt) => ({ ...attempt, status: 'REVERSED' }));
        await recheck(session, 'cancelled');
      };
      const makeValidAgain = async (valId: string): Promise<void> => {
        await reverseAll();
        attempts = attempts.map((attempt) =>
          attempt.val_id === valId ? { ...attempt, status: 'VALID' } : attempt,
        );
        await recheck(session, 'success');
      };
      await makeValidAgain('FIRST');
      const before = [10_000n, -2_500n, -7_500n, 10_000n, -4_000n, -6_000n];
      const ofFirst = { amounts: [...before, 7_500n], refunded: 2_500n };
      expect(await booksOf(scene, sessionId)).to.deep.equal(ofFirst);
      await makeValidAgain('SECOND');
      const ofSecond = { amounts: [...ofFirst.amounts, -7_500n, 6_000n], refunded: 4_000n };
      expect(await booksOf(scene, sessionId)).to.deep.equal(ofSecond);
      await refund(session);
      const refunds = ['succeeded 2500 hub', 'succeeded 4000 hub', 'succeeded 6000 hub'];
      await untilSummary(scene, sessionId, refunds);
    });

    it('stays subtracted from a payment that becomes valid again with another validation id', async () => {
      await refund(session, 2_500n);
      await untilSummary(scene, session.sessionId, ['succeeded 2500 hub']);
      attempts = [{ val_id: 'FIRST', status: 'REVERSED' }];
      await recheck(session, 'cancelled');
      attempts = [{ val_id: 'NEW', bank: 'FIRST', status: 'VALID' }];
      await recheck(session, 'success');
      expect(await booksOf(scene, session.sessionId)).to.deep.equal({
        amounts: [10_000n, -2_500n, -7_500n, 7_500n],
        refunded: 2_500n,
      });
    });

    it('is checked until it is final, and leaves the present payment its amount', async () => {
      const { sessionId } = session;
      refundStatus = 'processing';
      await refund(session, 2_500n);
      await payAgain();
      await refund(session);
      refundStatus = 'refunded';
      await untilSummary(scene, sessionId, ['succeeded 2500 hub', 'succeeded 10000 hub']);
      const reviews = (await refundsOf(scene, sessionId)).map(({ reviewReason }) => reviewReason);
      expect(reviews).to.deep.equal([NOTHING_LEFT, '']);
      expect(await booksOf(scene, sessionId)).to.deep.equal({
        amounts: [10_000n, -10_000n, 10_000n, -10_000n],
        refunded: 10_000n,
      });
    });

    it('is reviewed by an operator if its answer was lost', async () => {
      const { sessionId } = session;
      losesAnswers = true;
      await refund(session, 2_500n);
      await payAgain();
      const isMissing = async (): Promise<boolean> => (await rowOf(session)).missing;
      await until(isMissing, 'the hub has asked once');
      scene.clock.aheadMs += 3 * MINUTE_MS;
      await untilSummary(scene, sessionId, ['failed 2500 hub']);
      const [failed] = await refundsOf(scene, sessionId);
      expect(failed?.stateReason).to.equal('the session was paid by another payment since');
      expect(failed?.reviewReason).to.match(/^the hub cannot request it again: look in the merchant panel/);
    });
  });

  it('at gateway_two is checked until it is final, also if the provider does not answer at first', async () => {
    let paidBy = 'TRX-1';
    let status = 'Completed';
    /** The refunds by payment; undefined while the provider does not answer about it. */
    const refunds: Record<string, object[] | undefined> = { 'TRX-1': [], 'TRX-2': [] };
    const done = { statusCode: '0000' };
    const bodyOf = ({ body }: Received) => JSON.parse(body) as Record<string, string>; // what the hub sends
    const payment = () => ({
      ...done,
      paymentID: 'PAY-1',
      trxID: paidBy,
      transactionStatus: status,
      amount: '100.00',
      currency: 'BDT',
      merchantInvoiceNumber: session.merchantTransactionId,
    });
    const folder = '/v2/tokenized-checkout/refund/payment';
    provider.on('/token/grant', json({ ...done, id_token: 'token', expires_in: 3_600 }));
    provider.on('/create', json({ ...done, paymentID: 'PAY-1', bkashURL: 'http://provider.example/pay' }));
    provider.on('/execute', (response, entry) => {
      const isFirst = paidBy === 'TRX-1' && status === 'Completed';
      return json(isFirst ? payment() : { statusCode: '2117' })(response, entry);
    });
    provider.on('/payment/status', (response, entry) => json(payment())(response, entry));
    provider.on(`${folder}/transaction`, (response, entry) => {
      const { trxId = '', refundAmount } = bodyOf(entry);
      const refundTransactionStatus = trxId === 'TRX-1' ? 'Initiated' : 'Completed';
      const made = { refundTrxId: `RF-${trxId}`, refundTransactionStatus, refundAmount };
      refunds[trxId]?.push(made);
      return json({ originalTrxId: trxId, originalTrxAmount: '100', ...made })(response, entry);
    });
    provider.on(`${folder}/status`, (response, entry) => {
      const { trxId = '' } = bodyOf(entry);
      const refundTransactions = refunds[trxId];
      const answer = json({ originalTrxId: trxId, originalTrxAmount: '100', refundTransactions });
      return (refundTransactions === undefined ? raw(500, '') : answer)(response, entry);
    });
    await addSlot('later-wallet', 'gateway_two');
    const session = await create('later-wallet');
    const { sessionId } = session;
    await recheck(session, 'success');
    await refund(session, 2_500n);
    status = 'Reversed';
    await recheck(session, 'cancelled');
    const [made] = refunds['TRX-1'] ?? [];
    refunds['TRX-1'] = undefined;
    [paidBy, status] = ['TRX-2', 'Completed'];
    await recheck(session, 'success');

    await refund(session);
    await untilSummary(scene, sessionId, ['pending 2500 hub', 'succeeded 10000 hub']);
    const { checks } = await rowOf(session);
    await until(async () => (await rowOf(session)).checks > checks, 'its next check is scheduled');
    refunds['TRX-1'] = [{ ...made, refundTransactionStatus: 'Completed' }];
    scene.clock.aheadMs += MINUTE_MS;
    await untilSummary(scene, sessionId, ['succeeded 2500 hub', 'succeeded 10000 hub']);
    const [first] = await refundsOf(scene, sessionId);
    expect(first).to.include({ state: RefundState.SUCCEEDED, reviewReason: NOTHING_LEFT });
    expect((await booksOf(scene, sessionId)).amounts).to.deep.equal([10_000n, -10_000n, 10_000n, -10_000n]);
  });

  /** The first refund of a session. */
  async function rowOf({ sessionId }: ChargeSession): Promise<{ missing: boolean; checks: number }> {
    const [row] = await query<{ missing: boolean; checks: number }>(
      scene.hub.databaseUrl,
      `select missing_since is not null as missing, checks from refund where session_id = $1 order by id`,
      [parseId('chs', sessionId)],
    );
    return row ?? expect.fail('no refund');
  }
});
