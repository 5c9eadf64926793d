// Identifiers (TypeID): a prefix for the kind, and a UUIDv7 in 26 lower-case Crockford base32 characters.
import { randomFillSync } from 'node:crypto';
import { fromString, fromUUID, toUUID } from 'typeid-js';
import { v7 } from 'uuid';

/** A UUID in its usual hyphenated form, as the database stores it. */
export type Uuid = string & { readonly __uuid: never };

export type IdPrefix =
  | 'app'
  | 'lic'
  | 'seat'
  | 'slot'
  | 'chs'
  | 'cb'
  | 'ver'
  | 'use'
  | 'dup'
  | 'rfd'
  | 'fee'
  | 'tok'
  | 'cus'
  | 'ksec'
  | 'evt'
  | 'whe'
  | 'ofr'
  | 'ord'
  | 'mal'
  | 'aud';

const BYTES_PER_ID = 16;
/** Random bytes for 256 ids. To ask the generator for each id takes longer than all other work for the id. */
const randomPool = Buffer.alloc(256 * BYTES_PER_ID);
let poolOffset = randomPool.length;
/** The time and the counter of the last id. */
const lastId = { msecs: 0, seq: 0 };

const MAX_SEQ = 0xffff_ffff;

/** A new UUIDv7. Within a process, each is greater than those before (RFC 9562, section 6.2, method 1). */
export function newUuid(): Uuid {
  if (poolOffset === randomPool.length) {
    randomFillSync(randomPool);
    poolOffset = 0;
  }
  const random = randomPool.subarray(poolOffset, poolOffset + BYTES_PER_ID);
  poolOffset += BYTES_PER_ID;
  const now = Date.now();
  if (now > lastId.msecs || lastId.seq === MAX_SEQ) {
    lastId.msecs = Math.max(now, lastId.msecs + 1);
    lastId.seq = random.readUInt32BE() >>> 1; // in the lower half, so that there is room to count
  } else {
    lastId.seq += 1;
  }
  return v7({ ...lastId, random }) as Uuid;
}

/** For example `lic_01k…` from `lic` and a UUID. */
export function formatId(prefix: IdPrefix, uuid: string): string {
  return fromUUID(uuid, prefix);
}

/** The UUID inside an identifier, or undefined if the text is not an identifier of that kind. */
export function parseId(prefix: IdPrefix, text: string): Uuid | undefined {
  if (text.length !== prefix.length + 27) return undefined;
  try {
    return toUUID(fromString(text, prefix)) as Uuid;
  } catch {
    return undefined;
  }
}
