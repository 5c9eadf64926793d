// Requests that two readers of the same bytes may understand differently (RFC 9112 sections 3.2 and 6.1).
import type { IncomingMessage } from 'node:http';

/**
 * What is wrong with a request by HTTP/1, in words for its sender; undefined if it says once to whom it goes, and leaves
 * no doubt where its body ends. What Node's strict parser refuses never comes here.
 */
export function ambiguityOf({ httpVersion, headers, rawHeaders }: IncomingMessage): string | undefined {
  if (!httpVersion.startsWith('1.')) return 'Send HTTP/1.1.';
  if (headers.host === undefined && httpVersion === '1.1') return 'The request needs a Host header.';
  // Several are one here, joined by commas.
  const coding = headers['transfer-encoding'] ?? 'chunked';
  if (coding.toLowerCase() === 'chunked' && countHosts(rawHeaders) <= 1) return undefined;
  return 'Host may be given once, and Transfer-Encoding only as chunked.';
}

/** Of several, `headers` keeps the first and says nothing. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts++;
  }
  return hosts;
}
