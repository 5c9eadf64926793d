// Signs in and out. The token stays in memory or, on request, in this tab's session storage.
import { Code, ConnectError } from '@connectrpc/connect';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { GetCallerResponse } from '../../gen/hub/access/v1/access_service_pb.ts';
import { connect, type Hub, type MethodName, methodOf } from './hub.ts';
import { createState } from './observable-state.ts';
import { canCall, isLimited } from './permissions.ts';

export type SignedIn = {
  readonly hub: Hub;
  readonly caller: GetCallerResponse;
  /** Whether the caller may call the method for at least one app or slot. */
  readonly may: (method: MethodName) => boolean;
  /** Whether the token is limited to certain apps or slots. */
  readonly isLimited: boolean;
};

/** Undefined when signed out. */
export const signedIn = createState<SignedIn | undefined>(undefined);

export const SignedInContext = createContext<SignedIn | undefined>(undefined);

export function useSignedIn(): SignedIn {
  const who = useContext(SignedInContext);
  if (who === undefined) throw new Error('nobody is signed in');
  return who;
}

/** Whether the token may see orders: those of its apps that were paid through its slots. */
export function canSeeOrders({ caller, may, isLimited }: SignedIn): boolean {
  const isWithinNeither = isLimited && (caller.apps.length === 0 || caller.slots.length === 0);
  return !isWithinNeither && may('orders.listOrders');
}

/** Why the console signed the user out; empty at first and after a manual sign-out. */
export const signOutReason = createState('');

const KEY = 'hub-console-token';

/** The token in session storage. */
export const keptToken = createState(sessionStorage.getItem(KEY) ?? undefined);

const NO_LONGER_ACCEPTED = 'The hub no longer accepts this token: it has expired or was revoked.';

/**
 * @param token undefined if the browser presents a client certificate
 * @throws ConnectError if the hub does not accept it
 */
export async function signIn(
  token: string | undefined,
  keepForTab: boolean,
  signal?: AbortSignal,
): Promise<void> {
  const caller = await connect(token).access.getCaller({}, { ...(signal && { signal }) });
  const hub = connect(token, () => {
    if (signedIn.get()?.hub === hub) signOut(NO_LONGER_ACCEPTED);
  });
  signOutReason.set('');
  signedIn.set({
    hub,
    caller,
    may: (method) => canCall(caller, methodOf(method)),
    isLimited: isLimited(caller),
  });
  if (keepForTab) keep(token);
}

/**
 * Signs in with the token in session storage. Removes the token only if the hub does not accept it.
 * @throws ConnectError if the hub cannot answer
 */
export async function signInAgain(token: string, signal: AbortSignal): Promise<void> {
  try {
    await signIn(token, true, signal);
  } catch (error) {
    if (ConnectError.from(error).code !== Code.Unauthenticated) throw error;
    signOut(NO_LONGER_ACCEPTED);
  }
}

export function signOut(reason = ''): void {
  keep(undefined);
  signOutReason.set(reason);
  signedIn.set(undefined);
}

function keep(token: string | undefined): void {
  if (token === undefined) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, token);
  keptToken.set(token);
}
