// Explains in plain English why an HTTP exchange failed.

/** Reasons by code, such as `it refused the connection`. */
export type Reasons = Readonly<Record<string, string>>;

const REASONS: Reasons = {
  ECONNREFUSED: 'it refused the connection',
  ENOTFOUND: 'its name does not resolve',
  EAI_AGAIN: 'its name cannot be looked up',
  ETIMEDOUT: 'it cannot be reached',
  EHOSTUNREACH: 'it cannot be reached',
  ENETUNREACH: 'it cannot be reached',
  UND_ERR_CONNECT_TIMEOUT: 'it cannot be reached',
  ECONNRESET: 'it closed the connection',
  EPIPE: 'it closed the connection',
  UND_ERR_SOCKET: 'it closed the connection',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its response is truncated',
};

/**
 * Returns the reason for an error of an exchange by undici that `withDeadline` limits to `limitMs`. Of the
 * error it shows only codes of Node.js, OpenSSL and undici, because the message may contain URLs and headers.
 * `more` adds to the common reasons.
 */
export function failureReason(error: unknown, limitMs: number, more: Reasons = {}): string {
  if (!(error instanceof Error)) return 'the exchange failed';
  if (error.name === 'AbortError') return 'the hub is stopping';
  if (error.name === 'TimeoutError') return `it took longer than ${limitMs} ms`;
  if (error.name === 'HTTPParserError') return 'it does not use HTTP';
  const code = 'code' in error ? String(error.code) : '';
  if (/CERT|SIGNATURE|^ERR_TLS/.test(code)) return `its TLS certificate is not trusted (${code})`;
  const known = more[code] ?? REASONS[code];
  return known ?? `the exchange failed${/^[A-Z][A-Z0-9_]*$/.test(code) ? ` (${code})` : ''}`;
}
