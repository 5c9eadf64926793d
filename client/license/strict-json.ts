// Strict JSON parser: rejects text that two parsers could read differently.

/** May have a member named `__proto__`: test for members with `Object.hasOwn`. */
export type JsonObject = { readonly [name: string]: unknown };

/** Excludes names that engines reorder, such as `9`, or treat specially, such as `__proto__`. */
export const MEMBER_NAME = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;

/**
 * Parses a JSON object. Undefined if the text is not one, or is ambiguous: duplicate members, a number not in its
 * shortest form, a lone surrogate. It detects these by serializing the value and comparing it with the compact text.
 * Also undefined if more than 64 objects and lists are nested, because other parsers may refuse that.
 */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isStrict = !isTooDeep(value) && JSON.stringify(value) === compactJson(text);
    return isStrict && isJsonObject(value) ? value : undefined;
  } catch {
    return undefined; // not JSON, or a lone surrogate
  }
}

function isTooDeep(value: unknown, levels = 64): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isTooDeep(each, levels - 1));
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

/** Removes spaces and unneeded escapes from valid JSON. @throws Error for a lone surrogate */
function compactJson(text: string): string {
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"]+/g) ?? [];
  return tokens.map((token) => (token.startsWith('"') ? compactString(token) : token)).join('');
}

function compactString(token: string): string {
  const string: string = JSON.parse(token);
  if (!string.isWellFormed()) throw new Error('lone surrogate');
  return JSON.stringify(string);
}
