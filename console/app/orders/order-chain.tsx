// From the payment to the machines: the steps of an order, each with links to what it made.
import type { ComponentChildren } from 'preact';
import type { Seat } from '../../../gen/hub/license/v1/license_pb.ts';
import { type OrderLicense, OrderState } from '../../../gen/hub/order/v1/order_pb.ts';
import { LICENSE_STATES, nameOf, ORDER_STATES, TAKEN_BACK } from '../../../lib/presentation/enum-names.ts';
import { grantedText, takenText } from '../../../lib/presentation/order-text.ts';
import { ShortId } from '../components/ids.tsx';
import { StateBadge, StatusBadge, type Tone } from '../components/state-badges.tsx';
import { Moment, MomentAfter } from '../components/times.tsx';
import { Amount } from '../components/values.tsx';
import { linkTo } from '../route.ts';
import { isReversed, type OrderFacts } from './order-facts.ts';

export function OrderChain({ facts }: { readonly facts: OrderFacts }) {
  const { order, session, machines } = facts;
  const isBlocked = order.state === OrderState.BLOCKED;
  const isRefunded = order.state === OrderState.REFUNDED;
  return (
    <ol class="timeline chain">
      <Step
        title="Payment"
        at={<Moment at={order.createdAt} exact />}
        tone={isReversed(session) || isRefunded ? 'bad' : 'good'}
      >
        <p>
          <Amount money={order.amount} /> through {order.slot}, session <ShortId id={order.sessionId} />{' '}
          {session && <StatusBadge status={session.status} verified={session.statusVerified} />}
        </p>
        {isReversed(session) && isBlocked && <p>The payment was reversed: the order stays blocked.</p>}
        {isRefunded && (
          <p>
            Paid back <Moment at={order.refundedAt} />: {order.reason}
          </p>
        )}
      </Step>
      <Step
        title="Order"
        at={order.fulfilledAt && <Moment at={order.fulfilledAt} exact />}
        tone={isBlocked ? 'bad' : isRefunded ? 'calm' : 'good'}
      >
        <p>
          {order.quantity} ×{' '}
          <a href={linkTo(['offers', order.offerId], { version: String(order.offerVersion) })}>
            {order.offer}
          </a>
          , version {order.offerVersion} <StateBadge of={ORDER_STATES} state={order.state} />
        </p>
        {isBlocked && <p>{order.reason}</p>}
      </Step>
      <Step
        title={order.licenses.length === 1 ? 'License' : 'Licenses'}
        tone={order.licenses.length > 0 ? 'good' : 'calm'}
      >
        {order.licenses.length === 0 && <p>None: the order is {isRefunded ? 'refunded' : 'blocked'}.</p>}
        <ul>
          {order.licenses.map((license) => (
            <li key={license.licenseId}>
              <LicenseLine license={license} facts={facts} />
            </li>
          ))}
        </ul>
      </Step>
      <Step title="Machines" tone={machines.length > 0 ? 'good' : 'calm'}>
        {machines.length === 0 && <p>No machine has activated since the payment.</p>}
        <ul>
          {machines.map((seat) => (
            <li key={seat.seatId}>
              <MachineLine seat={seat} />
            </li>
          ))}
        </ul>
      </Step>
    </ol>
  );
}

type StepProps = {
  readonly title: string;
  readonly at?: ComponentChildren;
  readonly tone: Tone;
  readonly children: ComponentChildren;
};

function Step({ title, at, tone, children }: StepProps) {
  return (
    <li class={tone}>
      <div class="when">{at}</div>
      <div class="event">
        <strong>{title}</strong>
        {children}
      </div>
    </li>
  );
}

type LineProps = { readonly license: OrderLicense; readonly facts: OrderFacts };

function LicenseLine({ license, facts }: LineProps) {
  const { licenseId, expiresAfter, expiresBefore, seatsTaken, timeTakenMs } = license;
  const takenBack = nameOf(TAKEN_BACK, license.takenBack);
  const taken = takenBack && takenText({ takenBack, seatsTaken, timeTakenMs: Number(timeTakenMs) });
  const now = facts.licenses.get(licenseId);
  return (
    <>
      <ShortId id={licenseId} /> {grantedText(license)}
      <MomentAfter text=" until " at={expiresAfter} />
      <MomentAfter text=", before until " at={expiresBefore} />
      {taken && `, taken back: ${taken}`} {now && <StateBadge of={LICENSE_STATES} state={now.state} />}
    </>
  );
}

function MachineLine({ seat }: { readonly seat: Seat }) {
  return (
    <>
      {seat.machineLabel || <code>{seat.machineFingerprint}</code>} with <ShortId id={seat.licenseId} />,{' '}
      <Moment at={seat.activatedAt} />
      {seat.releasedAt && ', released since'}
    </>
  );
}
