// Who is calling, as the interceptors establish it and the services read it.
import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import type { RoleName } from './entities.ts';

export type Caller = { readonly name: string; readonly role: RoleName };

/** Unset until a call is authenticated. It cannot be set from the wire: context values never leave the process. */
export const callerKey = createContextKey<Caller | undefined>(undefined, { description: 'caller' });

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
