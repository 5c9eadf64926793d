// Strict base64url without padding (RFC 4648 section 5): each byte sequence has exactly one encoding.

export function encodeBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}

/** Undefined for text that `encodeBase64url` does not produce: other characters, padding, non-zero trailing bits. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const bytes = bytesOf(atob(text.replaceAll('-', '+').replaceAll('_', '/')));
  return encodeBase64url(bytes) === text ? bytes : undefined;
}

/** Converts a binary string, as returned by `atob`, to bytes. */
export function bytesOf(binary: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
