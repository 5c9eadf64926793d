// Canonical JSON (RFC 8785) for the value types that a license contains.
import { isJsonObject, type JsonObject, MEMBER_NAME } from './strict-json.ts';

/**
 * The RFC 8785 form of an object of objects, lists, strings and integers within ±(2^53−1): sorted members, no spaces.
 * Undefined if the object contains other values or member names.
 */
export function canonicalForm(object: JsonObject): string | undefined {
  try {
    return write(object);
  } catch {
    return undefined;
  }
}

function write(value: unknown): string {
  if (typeof value === 'string' && value.isWellFormed()) return JSON.stringify(value);
  if (Number.isSafeInteger(value)) return String(value);
  if (Array.isArray(value)) return `[${value.map((each) => write(each)).join(',')}]`;
  if (!isJsonObject(value)) throw new TypeError('not canonical');
  const names = Object.keys(value).sort(); // by UTF-16 code units, as RFC 8785 asks
  if (!names.every((name) => MEMBER_NAME.test(name))) throw new TypeError('not canonical');
  return `{${names.map((name) => `"${name}":${write(value[name])}`).join(',')}}`;
}
