// Asks the provider what became of a session, one question at a time, and settles by the answer.
import type { Pool } from 'pg';
import type { PaymentDriver, ProviderAccess } from './provider.ts';
import { ProviderUnavailable, type VerificationQuestion, type VerificationStep } from './provider.ts';
import { readSession, type SessionFacts } from './session-facts.ts';
import type { createRecordSteps, createSettle, Settlement } from './settle.ts';
import type { Lease, VerificationLease } from './verification-lease.ts';

/** The driver of a slot, and what it works with. */
export type Providers = {
  forSlot(
    slotId: string,
    observe: (step: VerificationStep) => void,
  ): Promise<{ readonly driver: PaymentDriver; readonly access: ProviderAccess }>;
};

export type Asked =
  | { readonly kind: 'settled'; readonly settlement: Settlement; readonly steps: readonly VerificationStep[] }
  /** The provider did not answer; the session is as it was. */
  | { readonly kind: 'unavailable'; readonly reason: string; readonly steps: readonly VerificationStep[] }
  /** Somebody else is asking about this session right now. */
  | { readonly kind: 'busy' };

export type AskOptions = {
  readonly pool: Pool;
  readonly lease: VerificationLease;
  readonly providers: Providers;
  readonly settle: ReturnType<typeof createSettle>;
  readonly recordSteps: ReturnType<typeof createRecordSteps>;
};

export type Inquiry = {
  readonly sessionId: string;
  readonly callbackId?: string;
  readonly proof?: string;
  /** Ask about a paid session as well, to find out whether it was reversed. */
  readonly evenIfPaid?: boolean;
  /** Milliseconds to wait for somebody else who is asking about the session; 0 if not given. */
  readonly waitMs?: number;
};

export type AskProvider = (inquiry: Inquiry) => Promise<Asked>;

/** Rejects only for what is neither the provider's nor the session's fault. */
export function createAskProvider({ pool, lease, providers, settle, recordSteps }: AskOptions): AskProvider {
  return async ({ sessionId, callbackId, proof, evenIfPaid = false, waitMs = 0 }) => {
    const read = async (): Promise<SessionFacts> => {
      const session = await readSession(pool, sessionId);
      if (session === undefined) throw new Error(`charge session ${sessionId} is gone`);
      return session;
    };
    const ifPaid = async ({ status }: SessionFacts): Promise<Asked | undefined> => {
      if (status !== 'success' || evenIfPaid) return undefined;
      const settlement = await settle({ sessionId, callbackId, steps: [], verdict: { kind: 'paid_before' } });
      return { kind: 'settled', settlement, steps: [] };
    };
    const ask = async ({ within }: Lease): Promise<Asked> => {
      // Under the lease: whoever held it before may have settled the session.
      const session = await read();
      const paid = await ifPaid(session);
      if (paid !== undefined) return paid;
      const steps: VerificationStep[] = [];
      const finding = { sessionId, callbackId, steps };
      try {
        const { driver, access } = await providers.forSlot(session.slotId, (step) => steps.push(step));
        const own = { ...access, http: within(access.http) };
        const verdict = await driver.verify(own, questionOf(session, proof));
        return { kind: 'settled', settlement: await settle({ ...finding, verdict }), steps };
      } catch (error) {
        if (!(error instanceof ProviderUnavailable)) throw error;
        await recordSteps(finding);
        return { kind: 'unavailable', reason: error.message, steps };
      }
    };
    const inVain = async () => ifPaid(await read());
    return (await lease.run(sessionId, { work: ask, waitMs, inVain })) ?? { kind: 'busy' };
  };
}

function questionOf(session: SessionFacts, proof: string | undefined): VerificationQuestion {
  return {
    merchantTransactionId: session.merchantTransactionId,
    providerPaymentId: session.providerPaymentId ?? '',
    amount: session.amount,
    settled: session.status === 'success',
    ...(proof && { proof }),
  };
}
