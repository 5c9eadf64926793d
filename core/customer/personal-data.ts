// Encrypts the personal data of customers in the audit log, with a key for each customer.
//
// Audit entries cannot change, so erasing a customer destroys the key. Audit entries of a customer contain
// `{"sealed": "<base64>"}` instead of each personal value. The hash chain covers the sealed values. The key
// is in customer.sealed_data_key, sealed with the master key.
import { createSecretKey, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { Facts } from '../audit/entities.ts';
import { parseId } from '../ids.ts';
import type { SealedColumn } from '../storage/secrets/reseal.ts';
import { createSealer, type Sealer } from '../storage/secrets/sealing.ts';

/** The key of one customer. */
export type DataKey = ReturnType<typeof dataKey>;

/** The text that lists show instead of a personal value of an erased customer. */
export const ERASED = 'erased';

const KEY_BYTES = 32;
/**
 * Values are padded to a multiple of this size, so that their length does not reveal the length of a name.
 */
const PADDED_BYTES = 64;
/** The key id in a sealed value. A customer has only one key. */
const ONLY_KEY = '0'.repeat(16);

const sealedFor = (id: string): string => `customer:${id}`;

/** The column with sealed keys, to re-seal when the master key is rotated. */
export const CUSTOMER_KEYS: SealedColumn = {
  table: 'customer',
  idColumn: 'id',
  sealedColumn: 'sealed_data_key',
  about: sealedFor,
};

/** Creates a key for the customer with this UUID. */
export function newDataKey(sealer: Sealer, id: string): DataKey {
  const key = randomBytes(KEY_BYTES);
  const sealedKey = sealer.seal(key, sealedFor(id));
  return dataKey(key, sealedKey, id);
}

/** @throws Error if the key was sealed with a master key that this hub does not have */
export function openDataKey(sealer: Sealer, id: string, sealedKey: Buffer): DataKey {
  return dataKey(sealer.open(sealedKey, sealedFor(id)), sealedKey, id);
}

function dataKey(key: Buffer, sealedKey: Buffer, id: string) {
  const sealer = createSealer([{ id: ONLY_KEY, secret: createSecretKey(key) }]);
  key.fill(0);
  const about = (field: string): string => `${sealedFor(id)} ${field}`;
  const seal = (value: unknown, field: string): unknown => {
    if (value == null) return null;
    const json = Buffer.from(JSON.stringify(value));
    const padded = Buffer.alloc(Math.ceil(json.length / PADDED_BYTES) * PADDED_BYTES, ' ');
    json.copy(padded);
    return { sealed: sealer.seal(padded, about(field)).toString('base64') };
  };
  const open = (value: unknown, field: string): unknown => {
    const sealed = sealedIn(value);
    if (sealed === undefined) return value;
    return JSON.parse(sealer.open(Buffer.from(sealed, 'base64'), about(field)).toString());
  };
  return {
    /** The key, sealed with the master key, for customer.sealed_data_key. */
    sealedKey,
    /** Seals each value except null. */
    sealFacts: (facts: Facts): Facts => mapFacts(facts, seal),
    /** Opens sealed values, and keeps other values. */
    openFacts: (facts: Facts): Facts => mapFacts(facts, open),
  };
}

type Entry = {
  readonly subject: string;
  readonly before?: Facts | null | undefined;
  readonly after?: Facts | null | undefined;
};

/**
 * Creates the function that opens personal values in audit entries. Those of an erased customer become
 * `erased`.
 */
export function createOpenEntries(pool: Pool, sealer: Sealer) {
  return async <T extends Entry>(entries: readonly T[]): Promise<T[]> => {
    const subjects = entries.filter(hasSealedFacts).map(({ subject }) => subject);
    const openers = await readOpeners(pool, sealer, new Set(subjects));
    return entries.map((entry) => {
      const open = openers.get(entry.subject);
      if (open === undefined) return entry;
      const { before, after } = entry;
      return { ...entry, ...(before && { before: open(before) }), ...(after && { after: open(after) }) };
    });
  };
}

type OpenFacts = (facts: Facts) => Facts;

/** Returns the function that opens the values of each customer, by the customer's id. */
async function readOpeners(
  pool: Pool,
  sealer: Sealer,
  subjects: ReadonlySet<string>,
): Promise<ReadonlyMap<string, OpenFacts>> {
  if (subjects.size === 0) return new Map();
  const idOf = new Map(
    [...subjects].flatMap((subject) => {
      const id = parseId('cus', subject);
      return id === undefined ? [] : [[id as string, subject] as const];
    }),
  );
  const { rows } = await pool.query<{ id: string; sealedKey: Buffer | null }>({
    name: 'customer_data_keys',
    // customer_pkey
    text: 'select id, sealed_data_key as "sealedKey" from customer where id = any($1)',
    values: [[...idOf.keys()]],
  });
  return new Map(
    rows.map(({ id, sealedKey }) => [
      idOf.get(id) ?? '',
      sealedKey === null ? eraseFacts : openDataKey(sealer, id, sealedKey).openFacts,
    ]),
  );
}

const eraseFacts: OpenFacts = (facts) =>
  mapFacts(facts, (value) => (sealedIn(value) === undefined ? value : ERASED));

function hasSealedFacts({ subject, before, after }: Entry): boolean {
  if (parseId('cus', subject) === undefined) return false;
  return [before, after].some((facts) =>
    Object.values(facts ?? {}).some((value) => sealedIn(value) !== undefined),
  );
}

/** Returns the Base64 of a sealed value; undefined if the value is not sealed. */
function sealedIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !('sealed' in value)) return undefined;
  return typeof value.sealed === 'string' ? value.sealed : undefined;
}

function mapFacts(facts: Facts, map: (value: unknown, field: string) => unknown): Facts {
  return Object.fromEntries(Object.entries(facts).map(([field, value]) => [field, map(value, field)]));
}
