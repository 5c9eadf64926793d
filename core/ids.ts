// Identifiers (TypeID): a prefix for the kind, and a UUIDv7 in 26 lower-case Crockford base32 characters.
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

/** A fresh, time-ordered UUIDv7. */
export function newUuid(): Uuid {
  return v7() as Uuid;
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
