// Base64url without padding (RFC 4648 section 5), strictly: each sequence of bytes has one text.

export function encodeBase64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '');
}

/** Undefined for text that `encodeBase64url` would not have written: stray characters, padding, stray bits. */
export function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) return undefined;
  const bytes = bytesOf(atob(text.replaceAll('-', '+').replaceAll('_', '/')));
  return encodeBase64url(bytes) === text ? bytes : undefined;
}

/** Bytes from a string that holds one in each character, as `atob` makes it. */
export function bytesOf(binary: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
