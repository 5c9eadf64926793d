// Requests with an idempotency key: a repeated request returns the result of the first one.
//
// The first request inserts its row in the transaction of its change. A concurrent repetition waits for that
// transaction on the primary key, and then reads its result.
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { QueryConfig, QueryResult } from 'pg';
import { HubError } from '../errors.ts';

export type IdempotentRequest = {
  /** The RPC and the resource that the key belongs to, such as `IssueLicenses:<app id>`. */
  readonly scope: string;
  /** The idempotency key, which the caller chooses. */
  readonly key: string;
  /** The request as the caller sent it, without the key; a JSON value. */
  readonly request: unknown;
};

export type StoredResult = {
  /** UUIDs of the resources that the request created or changed. */
  readonly ids: readonly string[];
  /** The generation of the license key that the request created; null for other requests. */
  readonly keyGeneration: number | null;
};

/** A pool or a client of pg. */
export type Sql = { query(statement: QueryConfig): Promise<QueryResult> };

/**
 * Reads the result of an earlier request with the key; undefined without one.
 *
 * @throws HubError `idempotency_key_reused` if the earlier request was different
 */
async function findEarlierResult(
  sql: Sql,
  { scope, key, request }: IdempotentRequest,
): Promise<StoredResult | undefined> {
  const { rows } = await sql.query({
    name: 'find_earlier_result',
    // idempotent_request_pkey
    text: `select result_ids as ids, key_generation as "keyGeneration",
                  coalesce(request_hash = $3, false) as same
           from idempotent_request where scope = $1 and key = $2`,
    values: [scope, key, hashRequest(request)],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  if (row.same) return { ids: row.ids, keyGeneration: row.keyGeneration };
  throw new HubError(
    'idempotency_key_reused',
    'this idempotency key was used with a different request: repeat that request or use a new key',
    { field: 'idempotencyKey' },
  );
}

/**
 * A concurrent request with the same idempotency key was first. The error rolls the transaction of this one
 * back.
 */
class RequestRepeated extends Error {
  override readonly name = 'RequestRepeated';
}

export type IdempotentChange<T> = {
  /** Makes the change, and calls `storeRequest` in its transaction. */
  readonly run: () => Promise<T>;
  /** Reads the resources of the earlier request. */
  readonly readEarlier: (earlier: StoredResult) => Promise<T>;
};

/**
 * Makes a change once per idempotency key; without a key, each time. Call it before any check of data that
 * the first request may have changed.
 *
 * @throws HubError `idempotency_key_reused`
 */
export async function runOnce<T>(
  sql: Sql,
  request: IdempotentRequest | undefined,
  { run, readEarlier }: IdempotentChange<T>,
): Promise<T> {
  if (request === undefined) return run();
  const earlier = await findEarlierResult(sql, request);
  if (earlier !== undefined) return readEarlier(earlier);
  try {
    return await run();
  } catch (error) {
    const concurrent = error instanceof RequestRepeated && (await findEarlierResult(sql, request));
    if (!concurrent) throw error;
    return readEarlier(concurrent);
  }
}

export type RequestWithResult = IdempotentRequest & {
  readonly result: { readonly ids: readonly string[]; readonly keyGeneration?: number };
  /** UUID of the customer whose personal data is part of the request. */
  readonly customerId?: string | null;
  readonly at: Date;
};

/**
 * Stores a request and its result, in the transaction of its change and before the change.
 *
 * @throws RequestRepeated if a concurrent request with the key was first
 */
export async function storeRequest(sql: Sql, stored: RequestWithResult): Promise<void> {
  const { scope, key, request, result, customerId = null, at } = stored;
  const { rowCount } = await sql.query({
    name: 'store_request',
    text: `insert into idempotent_request
             (scope, key, request_hash, result_ids, key_generation, customer_id, created_at)
           values ($1, $2, $3, $4, $5, $6, $7)
           on conflict (scope, key) do nothing`,
    values: [scope, key, hashRequest(request), result.ids, result.keyGeneration ?? null, customerId, at],
  });
  if (rowCount === 0) throw new RequestRepeated();
}

/** Hashes the canonical JSON of a request, so that the order of its members does not matter. */
function hashRequest(request: unknown): Buffer {
  return createHash('sha256')
    .update(canonicalize(request) ?? '')
    .digest();
}
