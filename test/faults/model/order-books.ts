// Compares the orders with what was paid for, row by row, and reports every difference.
import { formatId } from '../../../core/ids.ts';
import type { RefundPolicyName, TakenBackName } from '../../../core/order/entities.ts';
import type { Grant } from '../../../core/order/offers/grant.ts';
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
  readonly seatLimit: number;
  readonly validDays: number | null;
  readonly isOfApp: boolean;
  readonly isOfCustomer: boolean;
  readonly takenBack: TakenBackName | null;
  /** Whether it is neither revoked nor suspended. */
  readonly isActive: boolean;
};

type BookedPurchase = {
  readonly session: string;
  readonly granted: Grant;
  readonly quantity: number;
  readonly licenseId: string | null;
  /** Whether it was ever paid. */
  readonly paid: boolean;
  /** Whether refunds and reversals paid all of it back. */
  readonly paidBack: boolean;
  readonly policy: RefundPolicyName;
  readonly orders: number;
  readonly state: 'fulfilled' | 'blocked' | 'refunded' | null;
  readonly reason: string | null;
  readonly licenses: readonly BookedLicense[];
  /** Events and audit entries of the order: how often it was fulfilled, and refunded. */
  readonly told: number;
  readonly recorded: number;
  readonly toldRefunds: number;
  readonly recordedRefunds: number;
};

/**
 * The violated rules: each paid session has one order, which grants exactly what was paid for and tells it once. An
 * order whose payment was paid back is refunded, by the policy of its offer. An empty list if there are none.
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
       select object_id, count(*) filter (where type = 'order.fulfilled')::int as fulfilled,
              count(*) filter (where type = 'order.refunded')::int as refunded
       from ${EVENTS} e group by object_id),
     recorded as (
       select detail->>'session' as session, count(*) filter (where action = 'order.fulfill')::int as fulfilled,
              count(*) filter (where action = 'order.refund')::int as refunded
       from audit_entry where action in ('order.fulfill', 'order.refund') group by detail->>'session'),
     granted as (
       select o.order_id, json_agg(json_build_object(
         'id', l.id, 'issued', o.issued, 'seatsAdded', o.seats_added, 'seatLimit', l.seat_limit,
         'addedMs', (extract(epoch from o.expires_after - o.expires_before) * 1000)::float8,
         'validDays', extract(day from l.valid_for)::int,
         'takenBack', o.taken_back, 'isActive', l.revoked_at is null and l.suspended_at is null,
         'isOfApp', l.app_id = s.app_id, 'isOfCustomer', l.customer_id is not distinct from s.customer_id)) as list
       from order_license o join license l on l.id = o.license_id join sales_order s on s.id = o.order_id
       group by o.order_id)
     select c.merchant_transaction_id as session, v.granted, v.on_refund as policy, p.quantity,
            p.license_id as "licenseId",
            coalesce((select sum(u.amount_minor) from usage_log u where u.session_id = c.id), 1) = 0 as "paidBack",
            exists (select from usage_log u where u.session_id = c.id and u.kind = 'payment') as paid,
            (select count(*)::int from sales_order s where s.session_id = c.id) as orders,
            o.state, o.reason, coalesce(g.list, '[]') as licenses,
            coalesce(told.fulfilled, 0) as told, coalesce(told.refunded, 0) as "toldRefunds",
            coalesce(recorded.fulfilled, 0) as recorded, coalesce(recorded.refunded, 0) as "recordedRefunds"
     from purchase p join charge_session c on c.id = p.session_id join offer_version v on v.id = p.offer_version_id
       left join sales_order o on o.session_id = c.id left join granted g on g.order_id = o.id
       left join told on told.object_id = o.id
       left join recorded on recorded.session = 'chs_' || lower(c.merchant_transaction_id)`,
  );
}

function purchaseTrouble(purchase: BookedPurchase): string[] {
  const { session, granted, quantity, paid, paidBack, orders, state, reason, licenses } = purchase;
  const trouble: string[] = [];
  const expect = (holds: boolean, what: string): void => {
    if (!holds) trouble.push(`session ${session}, ${quantity} × ${granted.kind}, order ${state}: ${what}`);
  };
  expect(orders === (paid ? 1 : 0), `it has ${orders} orders, and is ${paid ? '' : 'not '}paid`);
  expect(isToldOnce(purchase), `its events and audit entries are ${JSON.stringify(purchase)}`);
  expect(
    state === null || (state === 'refunded') === paidBack,
    `its payment is ${paidBack ? '' : 'not '}paid back`,
  );
  expect(state === null || (state === 'fulfilled') === (reason === ''), `its reason is ${reason}`);
  if (licenses.length === 0) {
    // A blocked order grants nothing, also after its refund.
    expect(state !== 'fulfilled' && purchase.told === 0, 'it has no licenses');
    return trouble;
  }
  expect(state === 'fulfilled' || state === 'refunded', `it has ${licenses.length} licenses`);
  const wrong = licenses.filter((each) => !isTakenBack(each, purchase));
  expect(wrong.length === 0, `by ${purchase.policy} it has ${JSON.stringify(wrong)}`);
  expect(
    licenses.every(({ isOfApp }) => isOfApp),
    'its licenses are of another app',
  );
  if (granted.kind === 'license') {
    const isSold = (each: BookedLicense) =>
      each.issued &&
      each.isOfCustomer &&
      each.seatLimit === granted.seatLimit &&
      each.validDays === granted.validFor?.days;
    expect(
      licenses.length === quantity && licenses.every(isSold),
      `its licenses are ${JSON.stringify(licenses)}`,
    );
    return trouble;
  }
  const [changed, ...others] = licenses;
  expect(others.length === 0 && changed?.id === purchase.licenseId, `it has ${JSON.stringify(licenses)}`);
  expect(changed?.issued === false, 'it issued a license');
  const [days, seats] = granted.kind === 'renewal' ? [granted.by.days, 0] : [0, granted.seats];
  expect((changed?.addedMs ?? 0) === days * quantity * DAY_MS, `it added ${changed?.addedMs} ms`);
  expect(changed?.seatsAdded === seats * quantity, `it added ${changed?.seatsAdded} seats`);
  return trouble;
}

/** An order may be fulfilled again after it was refunded, or refunded while it is blocked. */
function isToldOnce({ state, told, recorded, toldRefunds, recordedRefunds }: BookedPurchase): boolean {
  if (told !== recorded || toldRefunds !== recordedRefunds || told > toldRefunds + 1) return false;
  return state === 'fulfilled'
    ? told >= 1
    : state !== 'refunded' || (toldRefunds >= 1 && told <= toldRefunds);
}

/** `kept` besides the policy's own: what an operator had revoked or suspended before. */
const TAKEN_BACK: Readonly<Record<RefundPolicyName, readonly (TakenBackName | null)[]>> = {
  suspend: ['suspended', 'kept'],
  revoke: ['revoked', 'kept'],
  undo: ['undone', 'kept'],
  keep: ['kept'],
};

function isTakenBack(
  { takenBack, isActive, issued }: BookedLicense,
  { state, policy }: BookedPurchase,
): boolean {
  if (state !== 'refunded') return takenBack === null;
  const isUsable = isActive && (policy === 'suspend' || policy === 'revoke');
  return TAKEN_BACK[policy].includes(takenBack) && !(issued && isUsable);
}

const DAY_MS = 86_400_000;

/** Each license is one of the first ones or of one order, and has exactly what its orders added. */
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
            coalesce(sum(o.seats_added - o.seats_taken), 0)::int as "seatsAdded"
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
