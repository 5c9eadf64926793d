// Compares the orders with what was paid for, row by row, and reports every difference.
import { formatId } from '../../../core/ids.ts';
import type { OrderStateName, RefundPolicyName, TakenBackName } from '../../../core/order/entities.ts';
import type { Grant, LicenseGrant, RenewalGrant, SeatsGrant } from '../../../core/order/offers/grant.ts';
import { query } from '../../support/postgres/databases.ts';

/** A license before its first purchase. Only orders change its expiry and its seats. */
export type StartingLicense = {
  readonly licenseId: string;
  readonly expiresAtMs: number;
  readonly seatLimit: number;
};

type BookedLicense = {
  readonly id: string;
  readonly issued: boolean;
  readonly addedMs: number | null;
  readonly seatsAdded: number;
  readonly takenBack: TakenBackName | null;
  readonly takenMs: number;
  readonly seatsTaken: number;
  /** Of the license now. */
  readonly state: 'active' | 'suspended' | 'revoked';
  readonly seatLimit: number;
  readonly validDays: number | null;
  readonly isOfApp: boolean;
  readonly isOfCustomer: boolean;
};

type BookedPurchase = {
  readonly session: string;
  readonly granted: Grant;
  readonly quantity: number;
  readonly licenseId: string | null;
  readonly policy: RefundPolicyName;
  /** How often it was paid. */
  readonly payments: number;
  /** Whether refunds and reversals paid all of it back. */
  readonly paidBack: boolean;
  readonly orders: number;
  readonly state: OrderStateName | null;
  readonly reason: string | null;
  readonly licenses: readonly BookedLicense[];
  /** Events and audit entries of the order. */
  readonly told: number;
  readonly recorded: number;
  readonly refundsTold: number;
  readonly refundsRecorded: number;
};

/**
 * The violated rules: each paid session has one order, which grants exactly what was paid for and tells it once. An
 * order whose payment was paid back has nothing left of it, or what its policy keeps. An empty list if there are none.
 */
export async function orderTrouble(
  databaseUrl: string,
  starting: readonly StartingLicense[],
): Promise<string[]> {
  const purchases = await readPurchases(databaseUrl);
  return [
    ...purchases.flatMap(purchaseTrouble),
    ...(await licenseTrouble(databaseUrl, starting)),
    ...(await eventTrouble(databaseUrl)),
  ];
}

/** SQL: all events, also those without a number yet. */
const EVENTS = `(select type, object_id from event
                 union all select type, unnest(object_ids) from event_outbox)`;

function readPurchases(databaseUrl: string): Promise<BookedPurchase[]> {
  return query<BookedPurchase>(
    databaseUrl,
    `with told as (
       select object_id, count(*) filter (where type = 'order.fulfilled')::int as granted,
              count(*) filter (where type = 'order.refunded')::int as refunded
       from ${EVENTS} e group by object_id),
     recorded as (
       select detail->>'session' as session, count(*) filter (where action = 'order.fulfill')::int as granted,
              count(*) filter (where action = 'order.refund')::int as refunded
       from audit_entry where action in ('order.fulfill', 'order.refund') group by detail->>'session'),
     granted as (
       select o.order_id, json_agg(json_build_object(
         'id', l.id, 'issued', o.issued, 'seatsAdded', o.seats_added, 'seatLimit', l.seat_limit,
         'addedMs', (extract(epoch from o.expires_after - o.expires_before) * 1000)::float8,
         'takenBack', o.taken_back, 'takenMs', o.time_taken_ms, 'seatsTaken', o.seats_taken,
         'state', case when l.revoked_at is not null then 'revoked' when l.suspended_at is not null then 'suspended'
                  else 'active' end,
         'validDays', extract(day from l.valid_for)::int,
         'isOfApp', l.app_id = s.app_id, 'isOfCustomer', l.customer_id is not distinct from s.customer_id)) as list
       from order_license o join license l on l.id = o.license_id join sales_order s on s.id = o.order_id
       group by o.order_id),
     paid as (
       select session_id, count(*) filter (where kind in ('payment', 'later_payment'))::int as payments,
              sum(amount_minor) = 0 as paid_back
       from usage_log group by session_id)
     select c.merchant_transaction_id as session, v.granted, v.on_refund as policy, p.quantity,
            p.license_id as "licenseId", coalesce(u.payments, 0) as payments,
            coalesce(u.paid_back, false) as "paidBack",
            (select count(*)::int from sales_order s where s.session_id = c.id) as orders,
            o.state, o.reason, coalesce(g.list, '[]') as licenses,
            coalesce(told.granted, 0) as told, coalesce(told.refunded, 0) as "refundsTold",
            coalesce(r.granted, 0) as recorded, coalesce(r.refunded, 0) as "refundsRecorded"
     from purchase p join charge_session c on c.id = p.session_id join offer_version v on v.id = p.offer_version_id
       left join sales_order o on o.session_id = c.id left join granted g on g.order_id = o.id
       left join told on told.object_id = o.id left join paid u on u.session_id = c.id
       left join recorded r on r.session = 'chs_' || lower(c.merchant_transaction_id)`,
  );
}

function purchaseTrouble(purchase: BookedPurchase): string[] {
  const { session, granted, quantity, payments, paidBack, orders, state, reason, licenses } = purchase;
  const { told, recorded, refundsTold, refundsRecorded } = purchase;
  const trouble: string[] = [];
  const expect = (holds: boolean, what: string): void => {
    if (!holds) trouble.push(`session ${session}, ${quantity} × ${granted.kind}, order ${state}: ${what}`);
  };
  expect(orders === Math.min(payments, 1), `it has ${orders} orders and ${payments} payments`);
  expect((state === 'refunded') === paidBack, `its payment is ${paidBack ? '' : 'not '}paid back`);
  // Each payment but a standing one was paid back.
  const refunds = Math.max(0, payments - (paidBack ? 0 : 1));
  expect(refundsTold === refunds, `it has ${refundsTold} events order.refunded of ${refunds} refunds`);
  expect(refundsRecorded === refunds, `it has ${refundsRecorded} audit entries order.refund`);
  // An order that was blocked until its payment was reversed has no event.
  const isLikely = told <= payments && (state === 'fulfilled') <= (told > 0);
  expect(isLikely, `it has ${told} events order.fulfilled of ${payments} payments`);
  expect(recorded === told, `it has ${recorded} audit entries order.fulfill`);
  expect(licenses.length > 0 === told > 0, `it has ${licenses.length} licenses`);
  expect(state === null || (state === 'fulfilled') === (reason === ''), `its reason is ${reason}`);
  if (licenses.length === 0) return trouble;
  const isOwn = licenses.every(({ isOfApp }) => isOfApp);
  expect(isOwn, 'its licenses are of another app');
  const takes =
    granted.kind === 'license' ? issuedTrouble(purchase, granted) : changedTrouble(purchase, granted);
  return [...trouble, ...takes.map((what) => `session ${session}, order ${state}: ${what}`)];
}

/** What a refund does by each policy. */
const TAKEN = { suspend: 'suspended', revoke: 'revoked', undo: 'undone', keep: 'kept' } as const;

function issuedTrouble(
  { quantity, licenses, state, policy }: BookedPurchase,
  granted: LicenseGrant,
): string[] {
  const takenBack = state === 'refunded' ? TAKEN[policy] : null;
  const now = takenBack === 'suspended' || takenBack === 'revoked' ? takenBack : 'active';
  const isSold = (each: BookedLicense) =>
    each.issued &&
    each.isOfCustomer &&
    each.seatLimit === granted.seatLimit &&
    each.validDays === granted.validFor?.days &&
    each.takenBack === takenBack &&
    each.state === now;
  if (licenses.length === quantity && licenses.every(isSold)) return [];
  return [`its licenses are not ${quantity}, ${now}: ${JSON.stringify(licenses)}`];
}

function changedTrouble(purchase: BookedPurchase, granted: RenewalGrant | SeatsGrant): string[] {
  const { quantity, licenses, state, policy, licenseId } = purchase;
  const [days, seats] = granted.kind === 'renewal' ? [granted.by.days, 0] : [0, granted.seats];
  const [addedMs, seatsAdded] = [days * quantity * DAY_MS, seats * quantity];
  // A payment after a reversal that cannot be given again leaves its order blocked.
  const takenBack = state === 'fulfilled' ? null : TAKEN[policy];
  const isUndone = takenBack === 'undone';
  const [changed, ...others] = licenses;
  const isRight =
    others.length === 0 &&
    changed?.id === licenseId &&
    !changed.issued &&
    (changed.addedMs ?? 0) === addedMs &&
    changed.seatsAdded === seatsAdded &&
    changed.takenBack === takenBack &&
    changed.takenMs === (isUndone ? addedMs : 0) &&
    changed.seatsTaken === (isUndone ? seatsAdded : 0);
  return isRight
    ? []
    : [`it changed ${JSON.stringify(licenses)}, not by ${addedMs} ms and ${seatsAdded} seats`];
}

const DAY_MS = 86_400_000;

/** Each license is one of the first ones or of one order, and has exactly what its orders added and no refund took. */
async function licenseTrouble(databaseUrl: string, starting: readonly StartingLicense[]): Promise<string[]> {
  const rows = await query<{
    id: string;
    expiresAtMs: number | null;
    seatLimit: number;
    issuedBy: number;
    addedMs: number;
    seatsAdded: number;
  }>(
    databaseUrl,
    `select l.id, (extract(epoch from l.expires_at) * 1000)::float8 as "expiresAtMs",
            l.seat_limit as "seatLimit", count(o.*) filter (where o.issued)::int as "issuedBy",
            (coalesce(extract(epoch from sum(o.expires_after - o.expires_before)) * 1000, 0)
              - coalesce(sum(o.time_taken_ms), 0))::float8 as "addedMs",
            (coalesce(sum(o.seats_added), 0) - coalesce(sum(o.seats_taken), 0))::int as "seatsAdded"
     from license l left join order_license o on o.license_id = l.id group by l.id`,
  );
  const first = new Map(starting.map((each) => [each.licenseId, each]));
  return rows.flatMap(({ id: uuid, issuedBy, expiresAtMs, seatLimit, addedMs, seatsAdded }) => {
    const id = formatId('lic', uuid);
    const start = first.get(id);
    if (issuedBy !== (start === undefined ? 1 : 0)) return [`license ${id} was issued by ${issuedBy} orders`];
    if (start === undefined) return [];
    const [expiry, seats] = [start.expiresAtMs + addedMs, start.seatLimit + seatsAdded];
    if (expiresAtMs === expiry && seatLimit === seats) return [];
    return [
      `license ${id} expires at ${expiresAtMs} and has ${seatLimit} seats, its orders say ${expiry} and ${seats}`,
    ];
  });
}

/** Changes of licenses have one event each. Events and audit entries are written by the same transactions. */
async function eventTrouble(databaseUrl: string): Promise<string[]> {
  const issued = await query<{ id: string; count: number }>(
    databaseUrl,
    `select l.id, count(e.*)::int as count from license l
     left join ${EVENTS} e on e.object_id = l.id and e.type = 'license.issued'
     group by l.id having count(e.*) <> 1`,
  );
  const [changes] = await query<{ renewals: number; renewed: number; updates: number; updated: number }>(
    databaseUrl,
    `select (select count(*)::int from audit_entry where action = 'license.renew') as renewals,
            (select count(*)::int from ${EVENTS} e where type = 'license.renewed') as renewed,
            (select count(*)::int from audit_entry where action = 'license.update') as updates,
            (select count(*)::int from ${EVENTS} e where type = 'license.updated') as updated`,
  );
  const isTold = changes?.renewals === changes?.renewed && changes?.updates === changes?.updated;
  return [
    ...issued.map(({ id, count }) => `license ${formatId('lic', id)} has ${count} events license.issued`),
    ...(isTold ? [] : [`changes and events of licenses differ: ${JSON.stringify(changes)}`]),
  ];
}
