// The format of service tokens, `hub_<id>_<secret>`: makes, parses, hashes and compares them.
//
// They are random bearer tokens that contain the id of their row. The hub stores only a hash.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { formatId, newUuid, parseId, type Uuid } from '../ids.ts';

/** A fresh token: `hub_`, the 26 characters of its id, `_`, and 256 random bits in base64url. */
export function newServiceToken(id: Uuid = newUuid()): string {
  return `hub_${formatId('tok', id).slice('tok_'.length)}_${randomBytes(32).toString('base64url')}`;
}

/** The id in a token; undefined if the text is not a token. Does not authenticate the token. */
export function tokenIdOf(token: string): Uuid | undefined {
  const id = /^hub_(\w{26})_[\w-]{43}$/.exec(token)?.[1];
  return id === undefined ? undefined : parseId('tok', `tok_${id}`);
}

/** SHA-256. A slow hash is not needed, because a token has 256 random bits. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Compares a token with a hash in constant time. */
export function isToken(token: string, hash: Buffer): boolean {
  return timingSafeEqual(hashToken(token), hash);
}
