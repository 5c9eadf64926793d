// Parses JSON text strictly: what is verified is then what every other reader of the text would understand.

/** One named `__proto__` is a member like any other: look for members with `Object.hasOwn`. */
export type JsonObject = { readonly [name: string]: unknown };

/**
 * The JSON object in `text`; undefined if it is anything else, or ambiguous: a member given twice, a number not in its
 * shortest spelling, half a surrogate pair. `JSON.parse` keeps the last of two members of one name, and takes 1e2 for 100: then what it has
 * read, written again, is not the text without its spaces.
 */
export function parseJsonObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && JSON.stringify(value) === compact(text) ? value : undefined;
  } catch {
    return undefined; // no JSON, half a surrogate pair, or too deep to be written again
  }
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Valid JSON text without its spaces, and with no more escapes than needed. @throws Error for half a surrogate pair */
function compact(text: string): string {
  const tokens = text.match(/"[^"\\]*(?:\\.[^"\\]*)*"|[^\s"]+/g) ?? [];
  return tokens.map((token) => (token.startsWith('"') ? compactString(token) : token)).join('');
}

function compactString(token: string): string {
  const string: string = JSON.parse(token);
  if (!string.isWellFormed()) throw new Error('half a surrogate pair');
  return JSON.stringify(string);
}
