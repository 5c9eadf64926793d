// Detects requests that two servers may parse differently: request smuggling (RFC 9112 sections 3.2 and 6.1).
import type { IncomingMessage } from 'node:http';

/**
 * Returns why an HTTP/1 request is ambiguous, as text for its sender; undefined if its host and the end of
 * its body are certain. Node's strict parser refuses other malformed requests.
 */
export function findSmugglingSign({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (!httpVersion.startsWith('1.')) return 'Send HTTP/1.1.';
  if (headers.host === undefined && httpVersion === '1.1') return 'The request needs a Host header.';
  // Node joins repeated header lines with commas.
  const coding = headers['transfer-encoding'] ?? 'chunked';
  if (coding.toLowerCase() === 'chunked' && countHosts(rawHeaders) <= 1) return undefined;
  return 'Host may appear only once, and Transfer-Encoding only as chunked.';
}

/** Reads the raw headers: `headers` keeps only the first Host. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts++;
  }
  return hosts;
}
