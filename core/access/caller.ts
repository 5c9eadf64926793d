// Who is calling, as the interceptors establish it and the services read it.
import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { RoleName, Scope } from './entities.ts';

export type Caller = {
  /** Of the token, `tok_…`. Undefined for the hub's own gateway, which has none. */
  readonly id?: string;
  readonly name: string;
  readonly role: RoleName;
  /** What the caller is limited to, if to anything. */
  readonly scope?: Scope;
};

/** Unset until a call is authenticated. It cannot be set from the wire: context values never leave the process. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller' });

/** The other end of the connection. */
export type Peer = {
  readonly address: string;
  /** The certificate it has shown, if it has. */
  certificate(): PeerCertificate | undefined;
};

/** `subject` as RFC 4514 writes it, of a certificate that the client CA has issued; or why it is not accepted. */
export type PeerCertificate =
  | { readonly subject: string; readonly expiresAt: Date; readonly refused?: undefined }
  | { readonly refused: string };

/** Who calls directly, within the process, comes from nowhere. */
export const peerKey = createContextKey<Peer>(
  { address: '', certificate: () => undefined },
  { description: 'peer' },
);

/** The id that ties log lines, audit entries and the answer of one request together. */
export const requestIdKey = createContextKey<string>('', { description: 'request id' });

/** Whom to name in the audit log, and for which request. */
export type Actor = { readonly name: string; readonly requestId: string };

export function actorOf(context: HandlerContext): Actor {
  return {
    name: context.values.get(callerKey)?.name ?? 'unknown',
    requestId: context.values.get(requestIdKey),
  };
}
