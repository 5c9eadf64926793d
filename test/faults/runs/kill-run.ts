// Customers buy licenses, renewals and seats, and pay a tenth of their sessions twice. Payments are refunded and
// reversed. Meanwhile the hub is killed repeatedly, a tenth of the callbacks is lost, and half of the answers about
// refunds are.
import { setTimeout as pause } from 'node:timers/promises';
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { GATEWAYS } from '../../support/hub/payment.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { type Bought, buy, paymentOf } from '../load/payment-fixture.ts';
import { endRefunds, playRefunds, STORIES } from '../load/refund-load.ts';
import { type LicensedSession, readKeys, refundedKeyTrouble } from '../load/refunded-keys.ts';
import { bringMissingCallbacks, readDuplicates, standingPayments } from '../load/second-payments.ts';
import { KINDS, keyTrouble, openShop, purchaseOf, type Shop, slugOf } from '../load/shop.ts';
import { readSessions, totalsByCurrency } from '../model/reconcile.ts';
import { isTakenAway, refundedAmounts } from '../model/refund-books.ts';
import { untilBooksAgree } from '../model/until-books-agree.ts';
import { type Cluster, startCluster } from '../scenes/cluster.ts';

export type KillRun = {
  readonly sessions: number;
  readonly kills: number;
  /** Determines the purchases and the moments of the kills, as far as timing can be repeated. */
  readonly seed: number;
};

export type KillReport = {
  readonly successes: number;
  readonly usageLogs: number;
  readonly duplicates: number;
  /** Payments that the provider reversed, and refunds that it made. */
  readonly reversals: number;
  readonly refunds: number;
  /** Fulfilled ones, and refunded ones. */
  readonly orders: number;
  readonly ordersRefunded: number;
  /** The licenses that the orders issued, and how many were bought. */
  readonly licensesIssued: number;
  readonly licensesBought: number;
  /** How often an order changed a license. */
  readonly licensesChanged: number;
  /**
   * The sums of payments less refunds at the provider and in the hub, including duplicate payments, in minor
   * units.
   */
  readonly theirTotal: string;
  readonly ourTotal: string;
  readonly callbacksLost: number;
  readonly callbacksAnswered: number;
  readonly callbacksRefused: number;
  readonly callbacksJournaled: number;
  readonly seconds: number;
  /** Errors in the records and failed restarts. */
  readonly trouble: readonly string[];
};

const AT_ONCE = 8;
/** Few, so that settlements of several sessions change the same license. */
const LICENSES = 5;
const MAX_QUANTITY = 4;
/** Every tenth callback is lost. */
const LOST_EVERY = 10;
/** The share of sessions with refunds or a reversal, among those that are paid once. */
const REFUNDED = 0.4;
const REFUNDS_AT_ONCE = 16;
const MAX_DELAY_MS = 300;
/** The longest time between two kills, on a busy machine. */
const PAYING_MS = 600_000;
const REST_MS = 120_000;
/** The hub bounds the rate at which it looks for refunds. */
const REST_MS_PER_SESSION = 150;

/** @throws Error if a hub does not restart, or exits by itself */
export async function killWhilePaying(run: KillRun): Promise<KillReport> {
  const start = performance.now();
  const cluster = await startCluster({ hubs: 1 });
  try {
    const random = drawing(run.seed);
    const hub = cluster.hub(0);
    if (hub === undefined) throw new Error('the hub does not run');
    const shop = await openShop(hub, LICENSES);
    const progress: Progress = { paid: 0, bought: [], paidAgain: [], refunding: new Set(), licensed: [] };
    const paying = payAll(cluster, shop, run, random, progress);
    await Promise.all([paying, killAgain(cluster, run, random, progress)]);
    endRefunds(cluster);
    await cluster.simulator.idle();
    await bringMissingCallbacks(cluster, progress.paidAgain);
    const trouble = await untilBooksAgree(
      cluster,
      shop.licenses,
      REST_MS + run.sessions * REST_MS_PER_SESSION,
    );
    trouble.push(...(await trustTrouble(cluster, progress)));
    return { ...(await report(cluster)), trouble, seconds: Math.round((performance.now() - start) / 1000) };
  } finally {
    await cluster.stop();
  }
}

/** The keys that customers see, and the chain of the audit log. */
async function trustTrouble(cluster: Cluster, { bought, licensed }: Progress): Promise<string[]> {
  const hub = cluster.hub(0);
  if (hub === undefined) return ['the hub does not run'];
  const isVerified = async () => (await hub.audit.verifyAuditLog({})).ok;
  const broken = await until(isVerified, 'the audit log is linked', REST_MS).then(
    () => [],
    () => ['the audit log is broken'],
  );
  return [
    ...broken,
    ...(await keyTrouble(cluster, hub, bought)),
    ...(await refundedKeyTrouble(cluster, licensed)),
  ];
}

type Progress = {
  paid: number;
  readonly bought: Bought[];
  readonly paidAgain: ChargeSession[];
  readonly refunding: Set<Promise<void>>;
  /** The keys of licenses before refunds, by session. */
  readonly licensed: LicensedSession[];
};

/** Starts several customers at a time until all have paid. */
async function payAll(
  cluster: Cluster,
  shop: Shop,
  { sessions }: KillRun,
  random: () => number,
  progress: Progress,
): Promise<void> {
  let next = 0;
  const customers = async (): Promise<void> => {
    for (let turn = next++; turn < sessions; turn = next++) {
      const gateway = GATEWAYS[turn % GATEWAYS.length] ?? 'gateway_one';
      const kind = KINDS[Math.floor(random() * KINDS.length)] ?? 'license';
      const quantity = 1 + Math.floor(random() * MAX_QUANTITY);
      const purchase = purchaseOf(shop, { kind, quantity, turn: Math.floor(random() * LICENSES) });
      const offer = `${shop.app}/${slugOf(kind, turn)}`;
      const bought = await buy(cluster, { gateway, ...purchase, offer }, turn);
      progress.bought.push(bought);
      const { session } = bought;
      const { providerPaymentId: ref } = session;
      const { simulator } = cluster;
      if (turn % LOST_EVERY === 0) simulator.faults.add({ kind: 'lost', operation: 'callback', ref });
      simulator.pay(ref);
      progress.paid += 1;
      if (isPaidAgain(turn)) {
        const isPaid = () => paymentOf(cluster, session)?.state === 'paid';
        await until(isPaid, `${ref} is paid`, REST_MS);
        simulator.payAgain(ref);
        progress.paidAgain.push(session);
      } else if (random() < REFUNDED) await beginRefunds(cluster, bought, random, progress);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, customers));
  await Promise.all(progress.refunding);
}

/** Refunds or reverses the payment meanwhile. Resolves at once, unless many others are in progress. */
async function beginRefunds(
  cluster: Cluster,
  bought: Bought,
  random: () => number,
  { refunding, licensed }: Progress,
): Promise<void> {
  const story = STORIES[Math.floor(random() * STORIES.length)] ?? 'all';
  const work = async () => {
    licensed.push(await readKeys(cluster, bought));
    await playRefunds(cluster, bought.session, story, random);
  };
  const tracked: Promise<void> = work().finally(() => refunding.delete(tracked));
  tracked.catch(() => {}); // payAll reports it
  refunding.add(tracked);
  if (refunding.size >= REFUNDS_AT_ONCE) await Promise.race(refunding);
}

/** One of ten sessions, at both gateways. */
function isPaidAgain(turn: number): boolean {
  return turn % 10 === Math.floor(turn / 10) % 10;
}

/**
 * Kills at random points of the progress. The last kill comes after all payments, while the hub catches up.
 */
async function killAgain(
  cluster: Cluster,
  { sessions, kills }: KillRun,
  random: () => number,
  progress: Progress,
): Promise<void> {
  const moments = Array.from({ length: kills - 1 }, () => Math.floor(random() * sessions));
  for (const moment of [...moments.sort((one, other) => one - other), sessions]) {
    await until(() => progress.paid >= moment, `${moment} sessions are paid`, PAYING_MS);
    await pause(random() * MAX_DELAY_MS);
    await cluster.replace(0);
  }
}

async function report({ databaseUrl, simulator, door }: Cluster) {
  const booked = await readSessions(databaseUrl);
  const usage = booked
    .filter(({ usageMinor }) => usageMinor !== null)
    .map(({ net, currency }) => ({ minor: BigInt(net), currency }));
  const [payments, refunds] = [simulator.payments(), simulator.refunds()];
  const [counted] = await query<{ count: number }>(
    databaseUrl,
    'select count(*)::int as count from callback',
  );
  const duplicates = await readDuplicates(databaseUrl);
  const answered = door.passages.filter(({ status }) => status === 200).length;
  return {
    successes: booked.filter(({ status }) => status === 'success').length,
    usageLogs: usage.length,
    duplicates: duplicates.length,
    reversals: payments.filter((payment) => isTakenAway(payment, refunds)).length,
    refunds: refunds.filter(({ state }) => state === 'refunded').length,
    ...(await countOrders(databaseUrl)),
    theirTotal: totalsByCurrency([
      ...standingPayments(simulator).map(({ amount }) => amount),
      ...refundedAmounts(refunds, payments),
    ]),
    ourTotal: totalsByCurrency([
      ...usage,
      ...duplicates.map(({ minor, currency }) => ({ minor: BigInt(minor), currency })),
    ]),
    callbacksLost: simulator.faults.events().filter(({ kind }) => kind === 'lost').length,
    callbacksAnswered: answered,
    callbacksRefused: door.passages.length - answered,
    callbacksJournaled: counted?.count ?? 0,
  };
}

async function countOrders(databaseUrl: string) {
  const [counted] = await query<
    Pick<KillReport, 'orders' | 'ordersRefunded' | 'licensesIssued' | 'licensesBought' | 'licensesChanged'>
  >(
    databaseUrl,
    `select (select count(*)::int from sales_order where state = 'fulfilled') as orders,
            (select count(*)::int from sales_order where state = 'refunded') as "ordersRefunded",
            (select count(*)::int from order_license where issued) as "licensesIssued",
            (select coalesce(sum(quantity), 0)::int from purchase where license_id is null) as "licensesBought",
            (select count(*)::int from order_license where not issued) as "licensesChanged"`,
  );
  if (counted === undefined) throw new Error('a count has one row');
  return counted;
}

/** Repeatable numbers from 0 to 1 (exclusive) for a seed, by a linear congruential generator. */
function drawing(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
