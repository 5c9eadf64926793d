// Who is calling, as the interceptors establish it and the services read it.
import { type ContextValues, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { ActorKind } from './audit-entities.ts';
import type { RoleName, Scope } from './entities.ts';

export type Caller = {
  /** Of the token, `tok_…`. Undefined for the hub's own gateway, which has none. */
  readonly id?: string;
  readonly name: string;
  readonly role: RoleName;
  /** Subject of the certificate that took the place of the token, if one did. */
  readonly certificateSubject?: string;
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
  | { readonly refused: string; readonly subject?: undefined };

/** Who calls directly, within the process, comes from nowhere. */
export const peerKey = createContextKey<Peer>(
  { address: '', certificate: () => undefined },
  { description: 'peer' },
);

/** The id that ties log lines, audit entries and the answer of one request together. */
export const requestIdKey = createContextKey<string>('', { description: 'request id' });

/** Whom to name in the audit log, and for which request. Names are for people: two tokens may share one. */
export type Actor = {
  readonly kind: ActorKind;
  readonly name: string;
  /** `tok_…`; undefined for the hub itself and for commands. */
  readonly tokenId?: string;
  /** Subject of the client certificate that the caller showed, with or without a token. */
  readonly certificateSubject?: string;
  /** Empty for what no request made. */
  readonly requestId: string;
};

/** Whether the caller is limited to apps or slots. */
export function isLimited(context: HandlerContext): boolean {
  return context.values.get(callerKey)?.scope !== undefined;
}

/** @throws Error if nobody is known to call: no public RPC changes anything that is recorded. */
export function actorOf({ values }: Pick<HandlerContext, 'values'>): Actor {
  const caller = callerFacts(values);
  if (caller === undefined) throw new Error('a change that is recorded needs a caller');
  return { ...caller, requestId: values.get(requestIdKey) };
}

/** What the audit log and the request log say of a caller; undefined if nobody is known to call. */
export function callerFacts(values: ContextValues): Omit<Actor, 'requestId'> | undefined {
  const caller = values.get(callerKey);
  if (caller === undefined) return undefined;
  const { id, name } = caller;
  // The gateway in this process is the only caller without a token.
  if (id === undefined) return { kind: 'hub', name };
  const certificateSubject = caller.certificateSubject ?? values.get(peerKey).certificate()?.subject;
  return {
    kind: caller.certificateSubject === undefined ? 'token' : 'certificate',
    name,
    tokenId: id,
    ...(certificateSubject !== undefined && { certificateSubject }),
  };
}
