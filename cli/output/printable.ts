// Escapes untrusted text for display: no control characters, no bidirectional overrides.

const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu;

/** Escapes control characters, line separators and bidirectional overrides, as in `\u001b`. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped);
}

/**
 * Formats JSON with characters escaped that JSON leaves raw (DEL, C1 controls, bidirectional overrides). The
 * value stays the same.
 */
export function printableJson(value: unknown, indent?: number): string {
  // The only control characters outside strings are the line feeds of the indentation.
  return JSON.stringify(value, null, indent).replace(UNPRINTABLE, (found) =>
    found === '\n' ? found : escaped(found),
  );
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
