// Strict base64url without padding (RFC 4648 section 5): each byte sequence has exactly one encoding.

/** For few bytes, such as a hash: each one is an argument of a call. */
export function encodeBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}

/**
 * Undefined unless `encodeBase64url` produces the text for `length` bytes: other lengths, other characters, padding,
 * non-zero trailing bits.
 */
export function decodeBase64url(text: string, length: number): Uint8Array<ArrayBuffer> | undefined {
  if (text.length !== Math.ceil((length * 4) / 3) || !/^[A-Za-z0-9_-]*$/.test(text)) return undefined;
  const bytes = bytesOf(atob(text.replaceAll('-', '+').replaceAll('_', '/')));
  return encodeBase64url(bytes) === text ? bytes : undefined;
}

/** Converts a binary string, as returned by `atob`, to bytes. */
export function bytesOf(binary: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
