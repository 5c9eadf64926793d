// Decodes the JSON of requests more strictly than the RPC library: valid UTF-8 and surrogates (I-JSON, RFC
// 7493), and 64-bit integers in decimal digits. The library reads "0x1" as 1.
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * A decoder for the RPC library, which turns an error into invalid_argument. The library would quote a lone
 * surrogate, and then never respond.
 */
export function jsonTextOf(input: DescMessage): { decode(bytes?: Uint8Array): string } {
  return {
    decode(bytes) {
      const text = decoder.decode(bytes);
      const json = parse(text);
      if (/\\u[dD]/.test(text) && hasLoneSurrogate(json)) {
        throw new Error('a string has a surrogate escape without its other half');
      }
      const field = findWrongInt64(input, json);
      if (field === undefined) return text;
      throw new ConnectError(`${field} must be a whole number in decimal digits`, Code.InvalidArgument);
    },
  };
}

/** Undefined for text that is not JSON: the library reports what is wrong with it. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** JSON.stringify escapes surrogates only if they are alone. */
function hasLoneSurrogate(json: unknown): boolean {
  return /(?<!\\)(\\\\)*\\ud/.test(JSON.stringify(json) ?? '');
}

/** The path of the first 64-bit integer that is text other than decimal digits. */
function findWrongInt64(message: DescMessage, json: unknown): string | undefined {
  // Well-known types have a JSON of their own.
  if (typeof json !== 'object' || json === null || message.typeName.startsWith('google.protobuf.')) {
    return undefined;
  }
  for (const [name, value] of Object.entries(json)) {
    const field = message.fields.find((each) => each.jsonName === name || each.name === name);
    const path = field && findWrongIn(field, value);
    if (path !== undefined) return [name, ...path].join('.');
  }
  return undefined;
}

/** The path below the field, empty for its own value; undefined if nothing is wrong. */
function findWrongIn(field: DescField, value: unknown): string[] | undefined {
  if (field.fieldKind === 'list' || field.fieldKind === 'map') {
    for (const [key, item] of Object.entries(value ?? {})) {
      const path = findWrongValue(field, item);
      if (path !== undefined) return [key, ...path];
    }
    return undefined;
  }
  return findWrongValue(field, value);
}

function findWrongValue(field: DescField, value: unknown): string[] | undefined {
  if (field.message) {
    const path = findWrongInt64(field.message, value);
    return path === undefined ? undefined : [path];
  }
  return typeof value === 'string' && INT64.has(field.scalar) && !/^-?\d+$/.test(value) ? [] : undefined;
}

const INT64: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);
