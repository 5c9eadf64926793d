// The address and client certificate of the peer of a connection.
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { TLSSocket } from 'node:tls';
import type { Peer, PeerCertificate } from '../../access/caller.ts';

export function peerOf({ socket }: IncomingMessage | Http2ServerRequest): Peer {
  return {
    address: socket.remoteAddress ?? '',
    certificate: () => (socket instanceof TLSSocket ? certificateOf(socket) : undefined),
  };
}

function certificateOf(socket: TLSSocket): PeerCertificate | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  if (!socket.authorized) return { refused: String(socket.authorizationError) };
  return { subject: reverseSubject(certificate.subject ?? ''), expiresAt: certificate.validToDate };
}

/**
 * Node writes one line for each part of a subject, the most general first. RFC 4514 begins with the most
 * specific.
 */
function reverseSubject(subject: string): string {
  const parts = subject.split('\n').map((part) => part.split(' + ').reverse().join('+'));
  return parts.reverse().join(',');
}
