// What a provider sent, and the session it says it is about.
import { parseId } from '../ids.ts';

export type ReceivedCallback = {
  readonly gateway: string;
  /** `session_id` of the query as it was sent. */
  readonly claimedSessionId: string | undefined;
  readonly fields: Readonly<Record<string, string>>;
};

/** The session id that a callback claims, if it is one at all. */
export function claimedSession({ claimedSessionId }: ReceivedCallback): string | undefined {
  return claimedSessionId === undefined ? undefined : parseId('chs', claimedSessionId);
}
