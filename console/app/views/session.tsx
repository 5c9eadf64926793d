// One charge session: its data and its history as a timeline.

import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Order } from '../../../gen/hub/order/v1/order_pb.ts';
import { type ChargeSession, ChargeStatus, type UsageLog } from '../../../gen/hub/payment/v1/payment_pb.ts';
import {
  CALLBACK_STATES,
  CHARGE_STATUSES,
  ORDER_STATES,
  wordFor,
} from '../../../lib/presentation/enum-names.ts';
import { soldText } from '../../../lib/presentation/order-text.ts';
import { riskText } from '../../../lib/presentation/risk.ts';
import {
  callbackCountText,
  listSessionEvents,
  type SessionEvent,
} from '../../../lib/presentation/session-timeline.ts';
import { type SessionWithOrder, withOrder } from '../../../lib/presentation/session-with-order.ts';
import { CallbackTable } from '../components/callback-table.tsx';
import { Confirm } from '../components/confirm.tsx';
import { Duplicates } from '../components/duplicates.tsx';
import { Facts, pairFacts } from '../components/facts.tsx';
import { ShortId, WholeId, WithLinks } from '../components/ids.tsx';
import { Loaded } from '../components/loaded.tsx';
import { LivePage, Section } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { StateBadge, StatusBadge, type Tone } from '../components/state-badges.tsx';
import { Table } from '../components/table.tsx';
import { gapText, Moment } from '../components/times.tsx';
import { Amount } from '../components/values.tsx';
import { EventsLink } from '../events/events-link.tsx';
import { machinesOf } from '../orders/order-facts.ts';
import { useLive } from '../poll-hub.ts';
import { RefundForm } from '../refunds/refund-form.tsx';
import { RefundTable } from '../refunds/refund-table.tsx';
import { linkTo, useRoute } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

const EVERY_MS = 5_000;

export function SessionView({ id }: { readonly id: string }) {
  const who = useSignedIn();
  const { payments, orders } = who.hub;
  const live = useLive(id, EVERY_MS, async (signal) => {
    const inspected = await payments.inspectChargeSession({ sessionId: id }, { signal });
    const reply = await withOrder(inspected, (request) => orders.getOrder(request, { signal }));
    const { session } = reply;
    if (session === undefined) throw new Error('the hub returned no session');
    return { reply, session, machines: await machinesOf(who, reply.order, signal) };
  });
  return (
    <LivePage
      title="Session"
      live={live}
      beside={({ session }) => (
        <>
          <StatusBadge status={session.status} verified={session.statusVerified} />
          <EventsLink object={id} scope={session} />
        </>
      )}
      actions={({ session, reply }) => (
        <>
          {who.may('payments.recheckChargeSession') && <Verify id={id} />}
          <RefundForm session={session} refunds={reply.refunds} order={reply.order} />
        </>
      )}
    >
      {({ reply, session, machines }) => (
        <>
          <p class="lead">{session.statusReason}</p>
          <SessionFacts session={session} order={reply.order} />
          <Section title="History">
            <Timeline lines={listSessionEvents(reply, machines)} />
          </Section>
          {reply.refunds.length > 0 && (
            <Section title="Refunds">
              <RefundTable refunds={reply.refunds} empty="There is none." />
            </Section>
          )}
          {reply.duplicatePayments.length > 0 && <Duplicates duplicates={reply.duplicatePayments} />}
          <Callbacks id={id} reply={reply} />
          {reply.usageLog && <Fees usageLog={reply.usageLog} />}
        </>
      )}
    </LivePage>
  );
}

function Verify({ id }: { readonly id: string }) {
  const { payments } = useSignedIn().hub;
  const recheck = async (): Promise<string> => {
    const { session, verification } = await payments.recheckChargeSession({ sessionId: id });
    const status = wordFor(CHARGE_STATUSES, session?.status ?? 0);
    return verification
      ? `Answer of the provider: ${verification.outcome}. The session is ${status}.`
      : `The session has no checkout. It is ${status}.`;
  };
  return (
    <Confirm action="Verify" question="Verify this session with the provider now?" run={recheck}>
      <p>
        The answer settles the session: a paid one becomes <b>success</b>, and one whose payment was reversed
        becomes <b>cancelled</b>. The hub also looks for refunds at the provider.
      </p>
    </Confirm>
  );
}

type CallbacksProps = { readonly id: string; readonly reply: SessionWithOrder };

/** Counts of callbacks; if the timeline does not have all, a link to the full list. */
function Callbacks({ id, reply }: CallbacksProps) {
  const { may } = useSignedIn();
  const { path, query } = useRoute();
  const { callbackCounts, moreCallbacks } = reply;
  const counts = callbackCounts.map(({ state, kept, onlyCounted }) =>
    callbackCountText({
      state: wordFor(CALLBACK_STATES, state),
      kept: Number(kept),
      onlyCounted: Number(onlyCounted),
    }),
  );
  const mayList = may('paymentAdmin.listCallbacks');
  return (
    <Section title="Callbacks">
      <p class="muted">{counts.join(', ') || 'No callback has arrived yet.'}</p>
      {mayList && moreCallbacks && query['callbacks'] !== 'all' && (
        <p>
          <a href={linkTo(path, { callbacks: 'all' })}>List all callbacks in the journal</a>
        </p>
      )}
      {mayList && query['callbacks'] === 'all' && <AllCallbacks id={id} after={query['after'] ?? ''} />}
    </Section>
  );
}

type AllProps = { readonly id: string; readonly after: string };

function AllCallbacks({ id, after }: AllProps) {
  const { hub } = useSignedIn();
  const live = useLive(`${id} ${after}`, EVERY_MS, (signal) =>
    hub.paymentAdmin.listCallbacks({ sessionId: id, pageToken: after }, { signal }),
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
        ['Amount', session.amount],
        ['Refunded', session.refunded],
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
        ['Created', session.createdAt],
        ['Status since', session.statusChangedAt],
        ['Risk', riskText(session.riskLevel, session.riskTitle)],
        ['Held for review since', session.heldAt],
        ['Released', session.releasedAt],
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
        ...pairFacts(session.metadata, 'Metadata: '),
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
        const gap = line.at && before ? timestampMs(line.at) - timestampMs(before) : 0;
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

function Fees({ usageLog }: { readonly usageLog: UsageLog }) {
  return (
    <Section title="Fees">
      <Table
        caption="Fees of this payment"
        rows={usageLog.fees}
        keyOf={({ rule }) => rule}
        empty="No fee rule applied to this payment."
        columns={[
          { title: 'Rule', cell: ({ rule }) => rule },
          { title: 'Version', kind: 'number', cell: ({ ruleVersion }) => ruleVersion },
          { title: 'Fee', kind: 'number', cell: ({ amount }) => amount },
        ]}
      />
      {usageLog.fees.length > 1 && (
        <p>
          In all <Amount money={usageLog.feeTotal} />.
        </p>
      )}
    </Section>
  );
}
