// The way of one callback: from the journal to what came of it. Every step can be repeated.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import type { AskProvider } from './ask-provider.ts';
import type { Journal, JournaledCallback } from './journal.ts';
import { type CallbackClaim, CallbackMalformed } from './provider.ts';
import { driverOf } from './registry.ts';
import { resolveSession } from './resolve.ts';
import type { SessionFacts } from './session-facts.ts';
import type { createSettle } from './settle.ts';

/** The callback could not be dealt with yet: to be tried again. */
export class TryAgainLater extends Error {
  override readonly name = 'TryAgainLater';
}

export type ProcessOptions = {
  readonly pool: Pool;
  readonly journal: Journal;
  readonly askProvider: AskProvider;
  readonly settle: ReturnType<typeof createSettle>;
  readonly clock: Clock;
  /** After so long the hub gives a callback up. */
  readonly giveUpAfterMs: number;
  /** How long an attempt waits for somebody else who is asking about the same session. */
  readonly busyWaitMs: number;
};

export type ProcessCallback = (callbackId: string, again?: 'replay') => Promise<void>;

/** Rejects with TryAgainLater if the callback stays in the journal as received. */
export function createProcessCallback(options: ProcessOptions): ProcessCallback {
  const { pool, journal, askProvider, settle, clock, giveUpAfterMs, busyWaitMs } = options;

  /** Whether the callback was given up. */
  const giveUpIfOld = async (
    { id, receivedAt }: JournaledCallback,
    reason: string,
    sessionId?: string,
  ): Promise<boolean> => {
    if (clock().getTime() - receivedAt.getTime() < giveUpAfterMs) return false;
    await journal.finish(id, { state: 'dead', reason: `given up: ${reason}`, sessionId });
    return true;
  };

  const postpone = async (callback: JournaledCallback, reason: string, sessionId: string): Promise<void> => {
    if (await giveUpIfOld(callback, reason, sessionId)) return;
    await journal.postpone(callback.id, reason, sessionId);
    throw new TryAgainLater(reason);
  };

  const verify = async (
    callback: JournaledCallback,
    session: SessionFacts,
    claim: CallbackClaim,
  ): Promise<void> => {
    const asked = await askProvider({
      sessionId: session.id,
      callbackId: callback.id,
      ...(claim.proof && { proof: claim.proof }),
      waitMs: busyWaitMs,
    });
    if (asked.kind === 'busy')
      await postpone(callback, 'the provider is being asked about the session', session.id);
    if (asked.kind === 'unavailable') await postpone(callback, asked.reason, session.id);
  };

  const dealWith = async (callback: JournaledCallback): Promise<void> => {
    const { id: callbackId } = callback;
    const claim = readClaim(callback);
    if (claim === undefined) {
      return journal.finish(callbackId, {
        state: 'ignored',
        reason: 'its fields are not what this gateway sends',
      });
    }
    const resolution = await resolveSession(pool, callback, claim);
    if (resolution.kind !== 'session') {
      const sessionId = resolution.kind === 'mismatch' ? resolution.sessionId : undefined;
      return journal.finish(callbackId, { state: resolution.kind, reason: resolution.reason, sessionId });
    }
    const { session } = resolution;
    switch (claim.outcome) {
      case 'ignored':
        return journal.finish(callbackId, {
          state: 'ignored',
          reason: `status ${JSON.stringify(claim.status)} is of no consequence`,
          sessionId: session.id,
        });
      case 'failed':
      case 'cancelled': {
        // Believed without asking: it moves no money, and a verified success overrides it.
        const verdict = {
          kind: 'not_paid',
          status: claim.outcome,
          detail: `a callback said ${claim.status}`,
        } as const;
        await settle({ sessionId: session.id, callbackId, steps: [], verdict });
        return;
      }
      case 'paid':
      case 'unknown':
        return verify(callback, session, claim);
    }
  };

  return async (callbackId, again) => {
    const callback = await journal.read(callbackId);
    if (callback === undefined || (callback.state !== 'received' && again === undefined)) return;
    try {
      await dealWith(callback);
    } catch (error) {
      // Not the provider's fault: a database that is away, credentials that cannot be opened, a mistake of the hub's.
      if (!(error instanceof TryAgainLater)) {
        const reason = 'the hub could not deal with it: see its log';
        if (!(await giveUpIfOld(callback, reason))) await journal.postpone(callbackId, reason, undefined);
      }
      throw error;
    }
  };
}

function readClaim({ gateway, fields }: JournaledCallback): CallbackClaim | undefined {
  try {
    return driverOf(gateway).readCallback(fields);
  } catch (error) {
    // It was read before it was journaled; only an older hub's journal can hold something else.
    if (error instanceof CallbackMalformed) return undefined;
    throw error;
  }
}
