// Canonical JSON (RFC 8785) for the value types that a license contains.
import { isJsonObject, type JsonObject } from './strict-json.ts';

/** ASCII names that no JavaScript engine reorders ("9") or treats specially ("__proto__"). */
const NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;
const MAX_DEPTH = 64;

/**
 * The RFC 8785 form of an object of objects, lists, strings and integers within ±(2^53−1): sorted members, no spaces.
 * Undefined if the object contains other values or member names.
 */
export function canonicalForm(object: JsonObject): string | undefined {
  try {
    return write(object, 0);
  } catch (error) {
    if (error instanceof NotCanonical) return undefined;
    throw error;
  }
}

class NotCanonical extends Error {
  override readonly name = 'NotCanonical';
}

function write(value: unknown, depth: number): string {
  if (typeof value === 'string' && value.isWellFormed()) return JSON.stringify(value);
  if (Number.isSafeInteger(value)) return String(value);
  if (depth === MAX_DEPTH) throw new NotCanonical();
  if (Array.isArray(value)) return `[${value.map((each) => write(each, depth + 1)).join(',')}]`;
  if (!isJsonObject(value)) throw new NotCanonical();
  const names = Object.keys(value).sort(); // by UTF-16 code units, as RFC 8785 asks
  if (!names.every((name) => NAME.test(name))) throw new NotCanonical();
  return `{${names.map((name) => `"${name}":${write(value[name], depth + 1)}`).join(',')}}`;
}
