// One charge session: its data and its history as a timeline.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Order } from '../../../gen/hub/order/v1/order_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type ChargeSession, ChargeStatus, type UsageLog } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { soldText } from '../../../lib/presentation/order-text.ts';
import { riskText } from '../../../lib/presentation/risk.ts';
import { type SessionHistory, withOrder } from '../../../lib/presentation/session-history.ts';
import {
  callbackCountText,
  listSessionEvents,
  type SessionEvent,
} from '../../../lib/presentation/session-timeline.ts';
import { CALLBACK_STATES, CHARGE_STATUSES, ORDER_STATES, wordFor } from '../../../lib/presentation/words.ts';
import { Amount } from '../components/amount.tsx';
import { StateBadge, StatusBadge, type Tone } from '../components/badge.tsx';
import { CallbackTable } from '../components/callback-table.tsx';
import { Confirm } from '../components/confirm.tsx';
import { Duplicates } from '../components/duplicates.tsx';
import { Facts, pairFacts } from '../components/facts.tsx';
import { ShortId, WholeId, WithLinks } from '../components/id.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { Table } from '../components/table.tsx';
import { gapText, Moment } from '../components/timestamp.tsx';
import { EventsLink } from '../events/events-link.tsx';
import { useLive } from '../live.ts';
import { machinesOf } from '../orders/order-facts.ts';
import { canCall } from '../permissions.ts';
import { RefundForm } from '../refunds/refund-form.tsx';
import { RefundTable } from '../refunds/refund-table.tsx';
import { linkTo, useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 5_000;

export function SessionView({ who, id }: { readonly who: SignedIn; readonly id: string }) {
  const { payments } = who.hub;
  const live = useLive(id, EVERY_MS, async (signal) => {
    const inspected = await payments.inspectChargeSession({ sessionId: id }, { signal });
    const reply = await withOrder(inspected, (request) => who.hub.orders.getOrder(request, { signal }));
    return { reply, machines: await machinesOf(who, reply.order, signal) };
  });
  const session = live.data?.reply.session;
  const recheck = async (): Promise<string> => {
    const { session: now, verification } = await payments.recheckChargeSession({ sessionId: id });
    await live.refresh();
    const status = wordFor(CHARGE_STATUSES, now?.status ?? 0);
    return verification
      ? `Answer of the provider: ${verification.outcome}. The session is ${status}.`
      : `The session has no checkout. It is ${status}.`;
  };
  return (
    <Page
      title="Session"
      beside={
        session && (
          <>
            <StatusBadge status={session.status} verified={session.statusVerified} />
            <EventsLink who={who} object={id} scope={session} />
          </>
        )
      }
      actions={
        session && (
          <>
            {canCall(who.caller, PaymentService.method.recheckChargeSession) && (
              <Confirm action="Verify" question="Verify this session with the provider now?" run={recheck}>
                <p>
                  The answer settles the session: a paid one becomes <b>success</b>, and one whose payment was
                  reversed becomes <b>cancelled</b>. The hub also looks for refunds at the provider.
                </p>
              </Confirm>
            )}
            <RefundForm
              who={who}
              session={session}
              refunds={live.data?.reply.refunds ?? []}
              order={live.data?.reply.order}
              onDone={live.refresh}
            />
          </>
        )
      }
    >
      <Loaded live={live}>
        {({ reply, machines }) => (
          <>
            <p class="lead">{reply.session?.statusReason}</p>
            {reply.session && <SessionFacts session={reply.session} order={reply.order} />}
            <section aria-labelledby="story">
              <h2 id="story">History</h2>
              <Timeline lines={listSessionEvents(reply, machines)} />
            </section>
            {reply.refunds.length > 0 && (
              <section aria-labelledby="refunds">
                <h2 id="refunds">Refunds</h2>
                <RefundTable who={who} refunds={reply.refunds} empty="There is none." onDone={live.refresh} />
              </section>
            )}
            {reply.duplicatePayments.length > 0 && (
              <Duplicates who={who} duplicates={reply.duplicatePayments} onDone={live.refresh} />
            )}
            <Callbacks who={who} id={id} reply={reply} />
            {reply.usageLog && <Fees usageLog={reply.usageLog} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

type CallbacksProps = {
  readonly who: SignedIn;
  readonly id: string;
  readonly reply: SessionHistory;
};

/** Counts of callbacks; if the timeline does not have all, a link to the full list. */
function Callbacks({ who, id, reply }: CallbacksProps) {
  const { path, query } = useRoute();
  const { callbackCounts, moreCallbacks } = reply;
  const counts = callbackCounts.map(({ state, kept, onlyCounted }) =>
    callbackCountText({
      state: wordFor(CALLBACK_STATES, state),
      kept: Number(kept),
      onlyCounted: Number(onlyCounted),
    }),
  );
  const mayList = canCall(who.caller, PaymentAdminService.method.listCallbacks);
  return (
    <section aria-labelledby="callbacks">
      <h2 id="callbacks">Callbacks</h2>
      <p class="muted">{counts.join(', ') || 'No callback has arrived yet.'}</p>
      {mayList && moreCallbacks && query['callbacks'] !== 'all' && (
        <p>
          <a href={linkTo(path, { callbacks: 'all' })}>List all callbacks in the journal</a>
        </p>
      )}
      {mayList && query['callbacks'] === 'all' && (
        <AllCallbacks who={who} id={id} after={query['after'] ?? ''} />
      )}
    </section>
  );
}

type AllProps = { readonly who: SignedIn; readonly id: string; readonly after: string };

function AllCallbacks({ who, id, after }: AllProps) {
  const live = useLive(`${id} ${after}`, EVERY_MS, (signal) =>
    who.hub.paymentAdmin.listCallbacks({ sessionId: id, pageToken: after }, { signal }),
  );
  return (
    <Loaded live={live}>
      {({ callbacks, nextPageToken }) => (
        <>
          <CallbackTable callbacks={callbacks} empty="The journal has no callbacks of the session." />
          <Pager next={nextPageToken} />
        </>
      )}
    </Loaded>
  );
}

type FactsProps = { readonly session: ChargeSession; readonly order: Order | undefined };

function SessionFacts({ session, order }: FactsProps) {
  const { $typeName: _, $unknown: _u, ...customer } = session.customer ?? {};
  return (
    <Facts
      facts={[
        ['Session', <WholeId key="id" id={session.sessionId} />],
        ['Amount', <Amount key="amount" money={session.amount} />],
        ['Refunded', session.refunded && <Amount key="refunded" money={session.refunded} />],
        ['Sells', session.purchase && soldText(session.purchase)],
        ['For license', session.purchase?.licenseId && <ShortId id={session.purchase.licenseId} />],
        [
          'Paid order',
          order && (
            <>
              <ShortId id={order.orderId} /> <StateBadge of={ORDER_STATES} state={order.state} />
            </>
          ),
        ],
        ['Order', session.orderReference],
        ['Slot', `${session.slot} (${session.gateway})`],
        ['Created', <Moment key="created" at={session.createdAt} />],
        ['Status since', <Moment key="since" at={session.statusChangedAt} />],
        ['Risk', riskText(session.riskLevel, session.riskTitle)],
        ['Held for review since', session.heldAt && <Moment key="held" at={session.heldAt} />],
        ['Released', session.releasedAt && <Moment key="released" at={session.releasedAt} />],
        [
          'Merchant transaction',
          session.merchantTransactionId && <code>{session.merchantTransactionId}</code>,
        ],
        ['Provider payment', session.providerPaymentId && <code>{session.providerPaymentId}</code>],
        ['Provider transaction', session.gatewayTransactionId && <code>{session.gatewayTransactionId}</code>],
        [
          'Checkout, for the customer',
          session.status === ChargeStatus.PENDING && session.checkoutUrl && (
            <code>{session.checkoutUrl}</code>
          ),
        ],
        ...Object.entries(customer).map(([name, value]) => [`Customer’s ${name}`, value] as const),
        ...pairFacts(session.metadata).map(([name, value]) => [`Metadata: ${name}`, value] as const),
      ]}
    />
  );
}

/** Oldest first, each with the time since the previous event. */
function Timeline({ lines }: { readonly lines: readonly SessionEvent[] }) {
  return (
    <ol class="timeline">
      {lines.map((line, index) => {
        const before = lines[index - 1]?.at;
        const gap = line.at && before ? millisecondsOf(line.at) - millisecondsOf(before) : 0;
        return (
          <li key={`${index} ${line.what}`} class={`${line.kind} ${toneOf(line)}`}>
            <div class="when">
              {line.at ? <Moment at={line.at} exact /> : 'now'}
              {gap > 0 && <span class="gap muted">{gapText(gap)}</span>}
            </div>
            <div class="event">
              <strong>{line.what}</strong>
              <p>
                <WithLinks text={line.detail} />
              </p>
            </div>
          </li>
        );
      })}
    </ol>
  );
}

const GOOD =
  /^(success|settled( \(success\))?|usage log|paid again|duplicate handled|order fulfilled|refund succeeded|dispute failed|license (issued|renewed)|seats added|machine activated)$/;
const BAD =
  /^(failed|dead|refund failed|dispute (found|succeeded)|mismatch|reversed|duplicate payment|settled \(failed\)|order blocked)$/;

function toneOf({ what, kind, detail }: SessionEvent): Tone {
  if (kind === 'waiting' || what === 'pending') return 'wait';
  if (kind === 'request' && /^(unavailable|mismatch|reversed) /.test(detail)) return 'bad';
  if (GOOD.test(what) || (kind === 'request' && detail.startsWith('paid '))) return 'good';
  return BAD.test(what) ? 'bad' : 'calm';
}

function millisecondsOf(at: Timestamp): number {
  return timestampDate(at).getTime();
}

function Fees({ usageLog }: { readonly usageLog: UsageLog }) {
  return (
    <section aria-labelledby="fees">
      <h2 id="fees">Fees</h2>
      <Table
        caption="Fees of this payment"
        rows={usageLog.fees}
        keyOf={({ rule }) => rule}
        empty="No fee rule applied to this payment."
        columns={[
          { title: 'Rule', cell: ({ rule }) => rule },
          { title: 'Version', kind: 'number', cell: ({ ruleVersion }) => ruleVersion },
          { title: 'Fee', kind: 'number', cell: ({ amount }) => <Amount money={amount} /> },
        ]}
      />
      {usageLog.fees.length > 1 && (
        <p>
          In all <Amount money={usageLog.feeTotal} />.
        </p>
      )}
    </section>
  );
}
