// The hash chain over the audit log: computes the hash of a link, and reads links.
//
// hash = HMAC-SHA-256(key of the chain, RFC 8785 form of {entry, linkedAt, previous, seq}). `previous` is the
// hash of the previous link in hex, 64 zeros for the first. The key is random and sealed with the master key,
// so access to the database alone is not enough to forge a link. `actorKind`, `actorTokenId` and
// `actorCertificate` are left out if null.
import { createHmac, timingSafeEqual } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ClientBase, Pool, PoolClient } from 'pg';
import type { Clock } from '../clock.ts';
import { takeLock } from '../storage/hub-lock.ts';
import type { Sealer } from '../storage/secrets/sealing.ts';
import type { ChainKey } from './chain-key.ts';
import type { ActorKind, Facts } from './entities.ts';

export type ChainOptions = {
  readonly pool: Pool;
  /** Opens the key of the chain. */
  readonly sealer: Sealer;
  readonly clock: Clock;
};

/** An entry in the form that is hashed. */
export type ChainedEntry = {
  /** The bare UUID. */
  readonly id: string;
  /** RFC 3339 in UTC with milliseconds. */
  readonly at: string;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before: Facts | null;
  readonly after: Facts | null;
  readonly detail: Facts;
  readonly requestId: string | null;
  readonly actorKind?: ActorKind | null;
  /** The bare UUID. */
  readonly actorTokenId?: string | null;
  readonly actorCertificate?: string | null;
};

/** Number and hash (hex) of a link, usually the newest. */
export type ChainHead = { readonly seq: number; readonly hash: string };

const NOTHING = '0'.repeat(64);

/** The head of a chain without links. */
export function beginOf({ beginsAfter }: Pick<ChainKey, 'beginsAfter'>): ChainHead {
  return { seq: beginsAfter, hash: NOTHING };
}

const GENESIS = beginOf({ beginsAfter: 0 });

/**
 * Hashes computed between two turns of the event loop, in about a millisecond. Requests wait for that long.
 * With 300 at a time they waited for 20 ms.
 */
export const HASHES_PER_TURN = 16;

/** The hash, in hex, of the link that follows `previous`. `linkedAt` is RFC 3339 in UTC with milliseconds. */
export function linkHash(
  key: Pick<ChainKey, 'secret'>,
  previous: ChainHead,
  linkedAt: string,
  { actorKind, actorTokenId, actorCertificate, ...always }: ChainedEntry,
): string {
  const entry = {
    ...always,
    ...(actorKind && { actorKind }),
    ...(actorTokenId && { actorTokenId }),
    ...(actorCertificate && { actorCertificate }),
  };
  const linked = { seq: previous.seq + 1, previous: previous.hash, linkedAt, entry };
  return macOf(key, linked).toString('hex');
}

/** HMAC-SHA-256 with the key of the chain, over the RFC 8785 form of a value. */
export function macOf({ secret }: Pick<ChainKey, 'secret'>, value: object): Buffer {
  return createHmac('sha256', secret)
    .update(canonicalize(value) ?? '')
    .digest();
}

/** Compares in constant time. */
export function isMacOf(key: ChainKey, value: object, mac: Buffer): boolean {
  const expected = macOf(key, value);
  return mac.length === expected.length && timingSafeEqual(mac, expected);
}

/** `12:9f86d0…` */
export function formatHead({ seq, hash }: ChainHead): string {
  return `${seq}:${hash}`;
}

/** Inverse of `formatHead`; the caller has validated the form. */
export function parseHead(text: string): ChainHead {
  const [seq = '', hash = ''] = text.split(':');
  return { seq: Number(seq), hash };
}

/** Shorter than the statement timeout, so that the error names the holder of the lock. */
const LOCK_WAIT_MS = 5_000;

/** Locks the chain for all hubs until the end of the transaction. @throws LockHeld */
export function lockChain(client: PoolClient): Promise<void> {
  return takeLock(client, 'audit_chain', LOCK_WAIT_MS);
}

/** The newest link, even if it is pruned; GENESIS if there is none. Uses audit_link_seq_idx. */
export async function readHead(db: Pool | ClientBase): Promise<ChainHead> {
  const { rows } = await db.query<{ seq: string; hash: string }>(
    `select seq, encode(hash, 'hex') as hash from (
       (select seq, hash from audit_link order by seq desc limit 1)
       union all (select seq, hash from audit_anchor order by seq desc limit 1)
     ) ends order by seq desc limit 1`,
  );
  const [newest] = rows;
  return newest ? { seq: Number(newest.seq), hash: newest.hash } : GENESIS;
}

/** The hash of a link, or of the last link of a pruned run; undefined if neither exists. */
export async function readHash(db: Pool | PoolClient, seq: number): Promise<string | undefined> {
  if (seq === GENESIS.seq) return GENESIS.hash;
  const { rows } = await db.query<{ hash: string }>(
    `select encode(hash, 'hex') as hash from audit_link where seq = $1
     union all select encode(hash, 'hex') from audit_anchor where seq = $1`,
    [seq],
  );
  return rows[0]?.hash;
}

export type Link = ChainHead & {
  readonly entryId: string;
  readonly linkedAt: string;
  /** Undefined if the row is missing. */
  readonly entry: ChainedEntry | undefined;
};

/** SQL that formats a column in the form that is hashed: RFC 3339 in UTC with milliseconds. */
export const timestampColumn = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The columns of a ChainedEntry, from `audit_entry e`. */
export const ENTRY_COLUMNS = `e.id, ${timestampColumn('e.at')} as at, e.actor, e.action, e.subject,
  e.before, e.after, e.detail, e.request_id as "requestId", e.actor_kind as "actorKind", e.actor_token_id as
    "actorTokenId",
  e.actor_certificate as "actorCertificate"`;

/** Up to `limit` links after number `after`, in order. Uses audit_link_seq_idx and audit_entry_pkey. */
export async function readLinks(db: Pool | PoolClient, after: number, limit: number): Promise<Link[]> {
  const { rows } = await db.query<
    ChainedEntry & { seq: string; hash: string; entryId: string; linkedAt: string }
  >({
    // A literal limit: the generic plan for a parameter would read the whole chain.
    name: `read_audit_links_${limit}`,
    text: `select l.seq, encode(l.hash, 'hex') as hash, l.entry_id as "entryId",
                  ${timestampColumn('l.linked_at')} as "linkedAt", ${ENTRY_COLUMNS}
           from audit_link l left join audit_entry e on e.id = l.entry_id
           where l.seq > $1 order by l.seq limit ${limit}`,
    values: [after],
  });
  return rows.map(({ seq, hash, entryId, linkedAt, ...entry }) => ({
    seq: Number(seq),
    hash,
    entryId,
    linkedAt,
    entry: entry.id === null ? undefined : entry,
  }));
}
