// The history of a session: everything in the order in which it happened.
import { create } from '@bufbuild/protobuf';
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { sessionHistoryView } from '../../../cli/views/payments/session-inspect.ts';
import { SeatSchema } from '../../../gen/hub/license/v1/license_pb.ts';
import { OrderSchema, OrderState } from '../../../gen/hub/order/v1/order_pb.ts';
import { CallbackState, ChargeStatus, UsageLogKind } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { InspectChargeSessionResponseSchema } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { listSessionEvents } from '../../../lib/presentation/session-timeline.ts';

const at = (second: number) => timestampFromDate(new Date(Date.UTC(2026, 2, 1, 10, 0, second)));
const money = (minorUnits: bigint) => ({ minorUnits, currency: 'BDT' });

const session = {
  sessionId: 'chs_1',
  slot: 'main',
  gateway: 'gateway_one',
  status: ChargeStatus.PENDING,
  statusReason: 'waiting for the customer',
  amount: money(10_000n),
  createdAt: at(0),
  statusChangedAt: at(0),
};

const lines = (
  reply: Parameters<typeof create<typeof InspectChargeSessionResponseSchema>>[1],
  order?: Parameters<typeof create<typeof OrderSchema>>[1],
) => {
  const inspected = create(InspectChargeSessionResponseSchema, reply);
  const history = order ? { ...inspected, order: create(OrderSchema, order) } : inspected;
  return listSessionEvents(history).map(({ at: time, what, detail }) => {
    const second = time && timestampDate(time).toISOString().slice(17, 19);
    return `${second ?? ''} ${what}: ${detail}`;
  });
};

describe('the history of a session', () => {
  it('covers creation, callbacks, verifications, fees and reversal', () => {
    const callback = { gateway: 'gateway_one', sessionId: 'chs_1', attempts: 1 };
    expect(
      lines({
        session: {
          ...session,
          status: ChargeStatus.CANCELLED,
          statusReason: 'reversed',
          statusChangedAt: at(9),
        },
        callbacks: [
          {
            ...callback,
            callbackId: 'cb_1',
            state: CallbackState.IGNORED,
            reason: 'of no consequence',
            fields: { extra: 'x', status: 'UNATTEMPTED', more: 'y' },
            receivedAt: at(1),
            finishedAt: at(2),
          },
          {
            ...callback,
            callbackId: 'cb_2',
            state: CallbackState.RECEIVED,
            attempts: 3,
            reason: 'no answer',
            receivedAt: at(3),
          },
          {
            ...callback,
            callbackId: 'cb_3',
            state: CallbackState.SETTLED,
            sessionStatus: ChargeStatus.FAILED,
            reason: 'a callback said FAILED',
            receivedAt: at(2),
            finishedAt: at(3),
            replayedAt: [at(6)],
          },
        ],
        statusChanges: [
          {
            at: at(3),
            from: ChargeStatus.PENDING,
            to: ChargeStatus.FAILED,
            reason: 'a callback said FAILED',
            callbackId: 'cb_3',
          },
          { at: at(5), from: ChargeStatus.FAILED, to: ChargeStatus.SUCCESS, verified: true, reason: 'VALID' },
          {
            at: at(9),
            from: ChargeStatus.SUCCESS,
            to: ChargeStatus.CANCELLED,
            verified: true,
            reason: 'reversed',
          },
        ],
        verifications: [
          { operation: 'validate', outcome: 'paid', detail: 'VALID', askedAt: at(4), durationMs: 12 },
          { operation: 'query', outcome: 'reversed', detail: 'REFUNDED', askedAt: at(8), durationMs: 9 },
        ],
        usageLogs: [
          {
            usageLogId: 'use_1',
            kind: UsageLogKind.PAYMENT,
            gatewayTransactionId: 'V1',
            amount: money(10_000n),
            fees: [{ rule: 'processing', ruleVersion: 2, amount: money(150n) }],
            feeTotal: money(150n),
            settledAt: at(5),
            reversedAt: at(9),
          },
          {
            usageLogId: 'use_2',
            kind: UsageLogKind.REVERSAL,
            gatewayTransactionId: 'V1',
            amount: money(-10_000n),
            feeTotal: money(0n),
            settledAt: at(9),
            reversesUsageLogId: 'use_1',
          },
        ],
        duplicatePayments: [
          {
            duplicatePaymentId: 'dup_1',
            gatewayTransactionId: 'V2',
            amount: money(10_000n),
            foundAt: at(7),
            resolvedAt: at(10),
            resolution: 'refunded',
          },
        ],
      }),
    ).to.deep.equal([
      '00 created: 100.00 BDT through main (gateway_one)',
      '01 callback: cb_1: status=UNATTEMPTED (2 more fields)',
      '02 callback: cb_3: no fields',
      '02 ignored: cb_1 at attempt 1: of no consequence',
      '03 callback: cb_2: no fields',
      '03 failed: a callback said FAILED, by cb_3 (the provider has not confirmed it)',
      '03 settled (failed): cb_3 at attempt 1: a callback said FAILED',
      '04 request: validate: paid after 12 ms: VALID',
      '05 success: VALID',
      '05 usage log: use_1: 100.00 BDT, provider transaction V1',
      '05 fee: 1.50 BDT by processing, version 2',
      '05 total fees: 1.50 BDT',
      '06 replayed: cb_3',
      '07 duplicate payment: dup_1: 100.00 BDT, provider transaction V2',
      '08 request: query: reversed after 9 ms: REFUNDED',
      '09 cancelled: reversed',
      '09 reversed: use_2: -100.00 BDT, reverses use_1',
      '10 duplicate handled: dup_1: refunded',
      ' waiting: cb_2 after 3 attempts: no answer',
    ]);
  });

  it('of a waiting session is short, without usage log and fees', () => {
    expect(lines({ session })).to.deep.equal([
      '00 created: 100.00 BDT through main (gateway_one)',
      '00 pending: waiting for the customer',
    ]);
    const view = sessionHistoryView(create(InspectChargeSessionResponseSchema, { session }), []);
    expect(view).to.deep.include({ usageLog: null, fees: [], callbacks: [], verifications: [] });
    expect(view).to.deep.include({ order: null, machines: [] });
  });

  describe('with an order', () => {
    const order = { orderId: 'ord_1', offer: 'demo/pro', offerVersion: 2, quantity: 1, createdAt: at(5) };
    const paid = { session: { ...session, status: ChargeStatus.SUCCESS, statusChangedAt: at(5) } };
    const afterPayment = (licenses: object[]) =>
      lines(paid, { ...order, state: OrderState.FULFILLED, fulfilledAt: at(5), licenses }).slice(2);

    it('shows what was granted, and which machines activated it', () => {
      expect(afterPayment([{ licenseId: 'lic_1', issued: true }])).to.deep.equal([
        '05 order fulfilled: ord_1: 1 × demo/pro, version 2',
        '05 license issued: lic_1',
      ]);
      const renewed = { licenseId: 'lic_1', expiresBefore: at(0), expiresAfter: at(86_400 * 365) };
      expect(afterPayment([renewed]).at(-1)).to.equal(
        '05 license renewed: lic_1: expires 2027-03-01, before 2026-03-01',
      );
      expect(afterPayment([{ licenseId: 'lic_1', seatsAdded: 5 }]).at(-1)).to.equal(
        '05 seats added: lic_1: 5',
      );
      const machine = create(SeatSchema, { licenseId: 'lic_1', machineLabel: 'Desk', activatedAt: at(7) });
      const history = listSessionEvents(create(InspectChargeSessionResponseSchema, paid), [machine]);
      expect(history.at(-1)).to.include({ what: 'machine activated', detail: 'Desk with lic_1' });
    });

    it('shows why it is blocked, and when a later attempt fulfilled it', () => {
      const reason = 'this license has been revoked';
      expect(lines(paid, { ...order, state: OrderState.BLOCKED, reason }).at(-1)).to.equal(
        `05 order blocked: ord_1: ${reason}`,
      );
      const fulfilled = { ...order, state: OrderState.FULFILLED, fulfilledAt: at(9) };
      expect(lines(paid, fulfilled).slice(2)).to.deep.equal([
        '05 order blocked: ord_1: a later attempt fulfilled it',
        '09 order fulfilled: ord_1: 1 × demo/pro, version 2',
      ]);
    });
  });
});
