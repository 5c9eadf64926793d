// Who has signed in. The token is kept in memory, or in this tab's session storage if asked for; never anywhere else.
import type { GetCallerResponse } from '../../gen/hub/access/v1/access_service_pb.ts';
import { connect, type Hub } from './hub.ts';
import { createState } from './state.ts';

export type SignedIn = { readonly hub: Hub; readonly caller: GetCallerResponse };

/** Undefined: nobody has. */
export const signedIn = createState<SignedIn | undefined>(undefined);

/** Why one has to sign in again; empty at first and after signing out. */
export const farewell = createState('');

const KEY = 'hub-console-token';

/**
 * @param token Undefined where the browser shows a client certificate.
 * @throws ConnectError if the hub does not accept it
 */
export async function signIn(token: string | undefined, keepForTab: boolean): Promise<void> {
  const caller = await connect(token).access.getCaller({});
  const hub = connect(token, () => {
    if (signedIn.get()?.hub === hub)
      signOut('The hub no longer accepts this token: it has expired or was revoked.');
  });
  if (keepForTab && token !== undefined) sessionStorage.setItem(KEY, token);
  farewell.set('');
  signedIn.set({ hub, caller });
}

export function signOut(reason = ''): void {
  sessionStorage.removeItem(KEY);
  farewell.set(reason);
  signedIn.set(undefined);
}

/** The token that this tab was asked to keep. */
export function keptToken(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined;
}
