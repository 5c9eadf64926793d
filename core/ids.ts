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

const RANDOM_BYTES = 16;
/** For many ids: asking the generator for each id takes longer than the rest of the id. */
const randomBytes = Buffer.alloc(256 * RANDOM_BYTES);
let used = randomBytes.length;
/** Time and sequence number of the last id. */
const last = { msecs: 0, seq: 0 };

/** A new UUIDv7. Within a process, each is greater than those before (RFC 9562, section 6.2, method 1). */
export function newUuid(): Uuid {
  if (used === randomBytes.length) {
    randomFillSync(randomBytes);
    used = 0;
  }
  const random = randomBytes.subarray(used, used + RANDOM_BYTES);
  used += RANDOM_BYTES;
  const now = Date.now();
  if (now > last.msecs) {
    last.msecs = now;
    last.seq = random.readUInt32BE() >>> 1; // half of the range, so that there is room to count
  } else {
    last.seq += 1;
  }
  return v7({ ...last, random }) as Uuid;
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
