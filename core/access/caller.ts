// The caller of an RPC, and the values of a request that interceptors set and services read.
import { type ContextValues, createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { ActorKind } from '../audit/entities.ts';
import type { RoleName, Scope } from './entities.ts';

export type Caller = {
  /** `tok_…`; undefined for the gateway in the same process, which has no token. */
  readonly id?: string;
  readonly name: string;
  readonly role: RoleName;
  /** Set if the caller was authenticated by a client certificate. */
  readonly certificateSubject?: string;
  /** Undefined if the caller is not limited. */
  readonly scope?: Scope;
};

/** Unset until a call is authenticated. Clients cannot set it: context values never leave the process. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller' });

/** The other end of the connection. */
export type Peer = {
  readonly address: string;
  /** The client certificate that it presented, if any. */
  certificate(): PeerCertificate | undefined;
};

/**
 * `subject` in the form of RFC 4514, of a certificate from the client CA; or the reason why it is not
 * accepted.
 */
export type PeerCertificate =
  | { readonly subject: string; readonly expiresAt: Date; readonly refused?: undefined }
  | { readonly refused: string; readonly subject?: undefined };

/** The default is for calls within the process. */
export const peerKey = createContextKey<Peer>(
  { address: '', certificate: () => undefined },
  { description: 'peer' },
);

/** Correlates log lines, audit entries and the response of a request. */
export const requestIdKey = createContextKey<string>('', { description: 'request id' });

/** The actor of a change, as the audit log records it. Names are not unique. */
export type Actor = {
  readonly kind: ActorKind;
  readonly name: string;
  /** `tok_…`; undefined for the hub itself and for commands. */
  readonly tokenId?: string;
  /** Subject of the client certificate that the caller presented, with or without a token. */
  readonly certificateSubject?: string;
  /** Empty for changes without a request. */
  readonly requestId: string;
};

/** Whether the caller is limited to apps or slots. */
export function isLimited(context: HandlerContext): boolean {
  return context.values.get(callerKey)?.scope !== undefined;
}

/** The apps and slots that the caller is limited to; undefined if it is not limited. */
export function scopeOf({ values }: Pick<HandlerContext, 'values'>): Scope | undefined {
  return values.get(callerKey)?.scope;
}

/** The apps that the caller is limited to; undefined if it is not limited. */
export function appsOf(context: Pick<HandlerContext, 'values'>): readonly string[] | undefined {
  return scopeOf(context)?.apps;
}

/** @throws Error if there is no caller: public RPCs must not record changes */
export function actorOf({ values }: Pick<HandlerContext, 'values'>): Actor {
  const caller = callerFacts(values);
  if (caller === undefined) throw new Error('a recorded change needs a caller');
  return { ...caller, requestId: values.get(requestIdKey) };
}

/** The caller as in the audit log and request log; undefined if there is none. */
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
