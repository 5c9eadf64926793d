// Decodes the JSON of requests: UTF-8 without halves of characters (I-JSON, RFC 7493), and 64-bit numbers in decimal digits.
import type { DescMessage } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { canHaveLongs, wrongNumber } from './whole-numbers.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * For the RPC library, one message at a time. What `decode` throws becomes invalid_argument. The library quotes what it
 * cannot read, and never answers where it would have to quote half a character.
 */
export function jsonTextOf(input: DescMessage): { decode(bytes?: Uint8Array): string } {
  const checksNumbers = canHaveLongs(input);
  return {
    decode(bytes) {
      const text = decoder.decode(bytes);
      if (/\\u[dD]/.test(text) && hasHalves(text)) {
        throw new Error('a string has a surrogate escape without its other half');
      }
      const field = checksNumbers ? wrongNumber(input, parse(text)) : undefined;
      if (field === undefined) return text;
      throw new ConnectError(`${field} has to be a whole number in decimal digits`, Code.InvalidArgument);
    },
  };
}

/** Undefined for what is no JSON: the library says what is wrong with it. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Written anew, halves of characters are the only ones that are escaped so. */
function hasHalves(text: string): boolean {
  return /(?<!\\)(\\\\)*\\ud/.test(JSON.stringify(JSON.parse(text)));
}
