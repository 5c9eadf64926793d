// Decodes the JSON of RPCs as I-JSON (RFC 7493) wants it: in UTF-8, and without halves of characters.

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * For the RPC library, which quotes what it cannot read: it never answers where it would have to quote half a character.
 * What `decode` throws becomes invalid_argument.
 */
export const jsonText = {
  decode(bytes?: Uint8Array): string {
    const text = decoder.decode(bytes);
    if (/\\u[dD]/.test(text) && hasHalves(text)) {
      throw new Error('a string has a surrogate escape without its other half');
    }
    return text;
  },
};

/** Written anew, halves of characters are the only ones that are escaped so. */
function hasHalves(text: string): boolean {
  return /(?<!\\)(\\\\)*\\ud/.test(JSON.stringify(JSON.parse(text)));
}
