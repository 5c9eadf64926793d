// Audit entries of settlements. status-history.ts reads them.
import type { Actor } from '../../access/caller.ts';
import type { Change } from '../../audit/record.ts';
import { formatId } from '../../ids.ts';
import { formatMoney } from '../money.ts';
import type { SessionFacts } from '../sessions/read-sessions.ts';
import type { SessionState } from './status-machine.ts';

export const SETTLEMENT: Actor = { kind: 'hub', name: 'settlement', requestId: '' };

export function settlementChange(
  session: SessionFacts,
  next: SessionState,
  reason: string,
  callbackId: string | undefined,
): Change {
  return {
    action: 'charge_session.settle',
    subject: formatId('chs', session.id),
    before: { status: session.status, verified: session.verified },
    after: { status: next.status, verified: next.verified, reason },
    detail: {
      amount: formatMoney(session.amount),
      ...(callbackId !== undefined && { callback: formatId('cb', callbackId) }),
    },
  };
}
