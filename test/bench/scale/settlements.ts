// Adds sessions to settle, because a session settles only once. As at a real provider, the provider's identifiers of a
// payment are random, so each settlement writes to other blocks of their indexes.
import { randomBytes } from 'node:crypto';
import { formatId, newUuid } from '../../../core/ids.ts';
import { localToken } from '../../support/hub/data-dir.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { query } from '../../support/postgres/databases.ts';
import { callbackRequest } from '../cases.ts';
import { addSlot, createOffer } from '../sides/hub.ts';
import { insertPurchases, insertSessions } from '../sides/hub-sessions.ts';
import { OFFER, type SessionData } from '../test-data.ts';
import { customerAt, type Population, pick } from './population.ts';
import { SCALE_APP } from './prepare.ts';

export const SETTLEMENTS = ['settle', 'settle_order'] as const;
/** `settle_order`: each session sells a license to one of the customers, spread over the population. */
export type Settlement = (typeof SETTLEMENTS)[number];

export type SettlementLoad = {
  readonly operation: Settlement;
  /** New sessions. */
  readonly targets: 'new';
  readonly count: number;
  readonly turn: number;
};

const SLOT = 'settlements';

/** Adds the slot and the offer of the sessions. */
export async function addSlotAndOffer(rpc: string, dataDir: string, providerUrl: string): Promise<void> {
  const transport = transportTo(rpc, await localToken(dataDir));
  await addSlot(transport, SLOT, providerUrl);
  await createOffer(transport, SCALE_APP);
}

export type SettlementRequests = {
  /** Complete HTTP/1.1 requests. */
  readonly requests: string[];
  /** Call it after the responses. @throws Error if the hub has not settled all of these sessions */
  readonly checkSettled: () => Promise<void>;
};

/** Adds pending sessions, one for each request. */
export async function addSettlements(
  databaseUrl: string,
  population: Population,
  { operation, count, turn }: SettlementLoad,
): Promise<SettlementRequests> {
  const sessions = Array.from({ length: count }, randomSession);
  await insertSessions(databaseUrl, SLOT, sessions);
  if (operation === 'settle_order') {
    const purchases = sessions.map((session, position) => ({
      session,
      customerUuid: customerOf(population, position + turn * count),
    }));
    await insertPurchases(databaseUrl, OFFER.slug, purchases);
  }
  const ids = sessions.map(({ uuid }) => uuid);
  return {
    requests: sessions.map((session) =>
      callbackRequest(session, 'VALID', `V-${randomId()}-${session.transactionId}`),
    ),
    async checkSettled() {
      const left = await unsettled(databaseUrl, ids);
      if (left > 0) throw new Error(`${left} of ${ids.length} sessions are not settled`);
    },
  };
}

async function unsettled(databaseUrl: string, ids: readonly string[]): Promise<number> {
  const [row] = await query<{ count: number }>(
    databaseUrl,
    `select count(*)::int from charge_session c left join sales_order o on o.session_id = c.id
     where c.id = any($1) and (c.status <> 'success' or c.has_purchase and o.state is distinct from 'fulfilled')`,
    [ids],
  );
  return row?.count ?? ids.length;
}

/** One of the customers of a few licenses, not the one with very many. */
function customerOf(population: Population, number: number): string {
  return customerAt(population, 3 * pick(Math.floor(population.licenses / 3), number)).id;
}

function randomSession(): SessionData {
  const uuid = newUuid();
  const sessionId = formatId('chs', uuid);
  const transactionId = sessionId.slice('chs_'.length).toUpperCase(); // as the hub forms it
  return { uuid, sessionId, transactionId, providerPaymentId: randomId() };
}

function randomId(): string {
  return randomBytes(10).toString('hex').toUpperCase();
}
