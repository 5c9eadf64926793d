// Thousands of junk callbacks of the maximum size for one session: their cost for the hub, and what they
// hide.
import { toBinary } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { InspectChargeSessionResponseSchema } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import {
  callBack,
  callbackFields,
  createSession,
  inspect,
  type Payments,
  payQuietly,
  startPayments,
  statusOf,
  untilStatus,
} from '../support/hub/payment.ts';
import { query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

const FLOOD = 2_000;
const CONNECTIONS = 8;
/** Callbacks that the session may keep. */
const KEPT = 40;
const FORM_BYTES = 65_536;
const MAX_BYTES = 1_000_000;
const MAX_MS = 1_000;

describe('a flood of junk callbacks for one session', () => {
  let payments: Payments;
  /** How far the hub's clock is ahead. */
  let aheadMs: number;
  before(async () => {
    aheadMs = 0;
    const clock = () => new Date(Date.now() + aheadMs);
    payments = await startPayments({ clock, settings: { sessionCallbacks: KEPT } });
  });
  after(() => payments.stop());

  it('is stored in part, counted in full, and hides neither the session nor its payment', async () => {
    const { gatewayUrl, databaseUrl } = payments.hub;
    const session = await createSession(payments, 'gateway_one');
    const junk = formOf(callbackFields(session, 'paid', 'FORGED'));
    const url = `${gatewayUrl}/v1/webhooks/gateway_one?session_id=${session.sessionId}`;

    const send = async (times: number): Promise<void> => {
      let left = times;
      const connection = async (): Promise<void> => {
        while (left-- > 0) {
          const response = await fetch(url, { method: 'POST', ...junk });
          expect(response.status).to.equal(200);
          await response.arrayBuffer();
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS }, connection));
    };
    let isOver = false;
    let slowestMs = 0;
    const watchHealth = async (): Promise<void> => {
      while (!isOver) {
        const begun = performance.now();
        expect((await fetch(`${gatewayUrl}/healthz`)).status).to.equal(200);
        slowestMs = Math.max(slowestMs, performance.now() - begun);
      }
    };
    const healthy = watchHealth();
    await send(FLOOD / 2);
    // The customer pays, and the provider says so amid the flood.
    const proof = payQuietly(payments, session);
    const honest = callBack(gatewayUrl, 'gateway_one', callbackFields(session, 'paid', proof));
    await Promise.all([send(FLOOD / 2), honest]);
    expect((await honest).status).to.equal(200);

    const [rows] = await query<{ callbacks: number; bytes: number }>(
      databaseUrl,
      `select count(*)::int as callbacks, max(octet_length(c::text)) as bytes from callback c`,
    );
    expect(rows?.callbacks).to.equal(KEPT);
    expect(rows?.bytes).to.be.below(1_024);

    if ((await statusOf(payments, session)) !== 'success') {
      aheadMs += 60_000; // the session is asked about once a minute at least
      await untilStatus(payments, session, 'success', 15_000);
    }
    const open = `select from callback where state = 'received'`;
    await until(async () => (await query(databaseUrl, open)).length === 0, 'every callback is dealt with');

    const begun = performance.now();
    const history = await inspect(payments, session);
    expect(performance.now() - begun, 'milliseconds to inspect the session').to.be.below(MAX_MS);
    expect(toBinary(InspectChargeSessionResponseSchema, history).length).to.be.below(MAX_BYTES);
    const sum = (of: 'kept' | 'onlyCounted') =>
      history.callbackCounts.reduce((total, count) => total + Number(count[of]), 0);
    expect({ kept: sum('kept'), onlyCounted: sum('onlyCounted') }).to.deep.equal({
      kept: KEPT,
      onlyCounted: FLOOD + 1 - KEPT,
    });
    expect(history.usageLog?.gatewayTransactionId).to.be.a('string').and.not.equal('');
    isOver = true;
    await healthy;
    expect(slowestMs, 'the slowest answer of /healthz, in milliseconds').to.be.below(2 * MAX_MS);

    // What comes after the payment is only counted as well.
    await send(CONNECTIONS);
    const later = await inspect(payments, session);
    expect(later.callbacks).to.have.length(KEPT);
    expect(later.callbackCounts.find(({ onlyCounted }) => onlyCounted > 0n)?.onlyCounted).to.equal(
      BigInt(FLOOD + 1 - KEPT + CONNECTIONS),
    );
  });

  it('marks callbacks that contradict their session, and causes no requests', async () => {
    const session = await createSession(payments, 'gateway_one');
    const other = await createSession(payments, 'gateway_one');
    const fields = { ...callbackFields(session, 'paid', 'FORGED'), tran_id: other.merchantTransactionId };
    payments.tap.forget();
    const flood = Array.from({ length: 3 * KEPT }, () =>
      callBack(payments.hub.gatewayUrl, 'gateway_one', fields),
    );
    for (const { status } of await Promise.all(flood)) expect(status).to.equal(200);
    const counted = async () => (await inspect(payments, session)).callbackCounts;
    const isDone = async (): Promise<boolean> => {
      const counts = await counted();
      return counts.length === 1 && counts[0]?.onlyCounted === BigInt(2 * KEPT);
    };
    await until(isDone, 'the journaled ones are processed, and the others counted', 20_000);
    const [{ kept, onlyCounted } = expect.fail('no counts'), ...rest] = await counted();
    expect({ kept, onlyCounted, rest }).to.deep.equal({
      kept: BigInt(KEPT),
      onlyCounted: BigInt(2 * KEPT),
      rest: [],
    });
    // The hub may still verify the session of the flood.
    const asked = [session.merchantTransactionId, other.merchantTransactionId, 'FORGED'].flatMap(
      payments.tap.about,
    );
    expect(asked).to.deep.equal([]);
  });
});

/** A form as large as it may be, in a hundred fields besides these. */
function formOf({ session_id: _, ...fields }: Record<string, string>) {
  const form = new URLSearchParams(fields);
  const room = Math.floor((FORM_BYTES - form.toString().length) / 100) - '&junk00='.length;
  for (let index = 0; index < 100; index++) form.set(`junk${index}`, 'x'.repeat(room));
  return {
    body: Buffer.from(form.toString()),
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  };
}
