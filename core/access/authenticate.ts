// Authenticates a caller by the bearer token of the request, or else by the client certificate of the
// connection.
import { Code, ConnectError, type ContextValues } from '@connectrpc/connect';
import type { Clock } from '../clock.ts';
import { type Caller, type Peer, type PeerCertificate, peerKey } from './caller.ts';
import type { LimitFailedAttempts } from './failed-attempts.ts';
import type { FindCaller } from './find-caller.ts';

/** @throws ConnectError Unauthenticated, or ResourceExhausted after too many failed attempts. */
export type Authenticate = (header: Headers, values: ContextValues) => Promise<Caller>;

export type AuthenticateOptions = {
  readonly findCaller: FindCaller;
  readonly clock: Clock;
  /** Undefined: attempts are not limited. */
  readonly limitFailedAttempts?: LimitFailedAttempts | undefined;
};

export function createAuthenticate(options: AuthenticateOptions): Authenticate {
  const { findCaller, clock, limitFailedAttempts } = options;
  const attempt = (
    { address }: Peer,
    credential: string,
    find: () => Promise<Caller | undefined>,
  ): Promise<Caller | undefined> =>
    limitFailedAttempts ? limitFailedAttempts(address, credential, find) : find();

  const byToken = async (peer: Peer, authorization: string): Promise<Caller> => {
    const token = /^Bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
    const caller = await attempt(peer, authorization, async () =>
      token === undefined ? undefined : findCaller.byToken(token),
    );
    if (caller === undefined) throw unauthenticated('the service token is not valid here');
    return caller;
  };

  const byCertificate = async (peer: Peer, certificate: PeerCertificate): Promise<Caller> => {
    if (certificate.refused !== undefined) {
      throw unauthenticated(`the client certificate is not accepted: ${certificate.refused}`);
    }
    const { subject, expiresAt } = certificate;
    // It was valid when the connection was opened, which may be long ago.
    if (expiresAt <= clock()) throw unauthenticated('the client certificate has expired');
    const caller = await attempt(peer, `certificate ${subject}`, () => findCaller.byCertificate(subject));
    if (caller === undefined)
      throw unauthenticated(`no service token is registered for the client certificate "${subject}"`);
    return caller;
  };

  return async (header, values) => {
    const authorization = header.get('authorization');
    const peer = values.get(peerKey);
    if (authorization !== null) return byToken(peer, authorization);
    const certificate = peer.certificate();
    if (certificate !== undefined) return byCertificate(peer, certificate);
    throw unauthenticated('send a service token as "Authorization: Bearer <token>"');
  };
}

function unauthenticated(message: string): ConnectError {
  return new ConnectError(message, Code.Unauthenticated);
}
