// Badges: a state as a word and a color.
import {
  CALLBACK_STATES,
  CHARGE_STATUSES,
  DELIVERY_STATES,
  FEE_RULE_STATES,
  LICENSE_STATES,
  MAIL_STATES,
  ORDER_STATES,
  REFUND_STATES,
  wordFor,
} from '../../../lib/presentation/words.ts';

export type Tone = 'good' | 'wait' | 'bad' | 'calm';

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const STATUS_TONES: Readonly<Record<string, Tone>> = { pending: 'wait', success: 'good', failed: 'bad' };

/** `verified`: whether the provider confirmed the status. */
export function StatusBadge({ status, verified }: { readonly status: number; readonly verified: boolean }) {
  const word = wordFor(CHARGE_STATUSES, status);
  const isDoubtful = !verified && word !== 'pending';
  return (
    <>
      <Badge tone={STATUS_TONES[word] ?? 'calm'}>{word}</Badge>
      {isDoubtful && (
        <span class="muted doubt" title="Reported by a callback; not confirmed by the provider">
          {' unconfirmed'}
        </span>
      )}
    </>
  );
}

const STATE_TONES: Readonly<Record<string, Tone>> = {
  received: 'wait',
  settled: 'good',
  mismatch: 'bad',
  dead: 'bad',
};

/** Shows a callback's state; `received` is shown as `waiting`. */
export function StateBadge({ state }: { readonly state: number }) {
  const word = wordFor(CALLBACK_STATES, state);
  return <Badge tone={STATE_TONES[word] ?? 'calm'}>{word === 'received' ? 'waiting' : word}</Badge>;
}

export function FeeRuleBadge({ state }: { readonly state: number }) {
  const word = wordFor(FEE_RULE_STATES, state);
  return <Badge tone={word === 'in_force' ? 'good' : 'calm'}>{word.replace('_', ' ')}</Badge>;
}

const LICENSE_TONES: Readonly<Record<string, Tone>> = {
  active: 'good',
  grace: 'wait',
  suspended: 'wait',
  revoked: 'bad',
};

export function LicenseBadge({ state }: { readonly state: number }) {
  const word = wordFor(LICENSE_STATES, state);
  return <Badge tone={LICENSE_TONES[word] ?? 'calm'}>{word}</Badge>;
}

const ORDER_TONES: Readonly<Record<string, Tone>> = { fulfilled: 'good', blocked: 'bad', refunded: 'calm' };

export function OrderBadge({ state }: { readonly state: number }) {
  const word = wordFor(ORDER_STATES, state);
  return <Badge tone={ORDER_TONES[word] ?? 'calm'}>{word}</Badge>;
}

const REFUND_TONES: Readonly<Record<string, Tone>> = { pending: 'wait', succeeded: 'good', failed: 'bad' };

export function RefundBadge({ state }: { readonly state: number }) {
  const word = wordFor(REFUND_STATES, state);
  return <Badge tone={REFUND_TONES[word] ?? 'calm'}>{word}</Badge>;
}

const MAIL_TONES: Readonly<Record<string, Tone>> = { queued: 'wait', sent: 'good', failed: 'bad' };

export function MailBadge({ state }: { readonly state: number }) {
  const word = wordFor(MAIL_STATES, state);
  return <Badge tone={MAIL_TONES[word] ?? 'calm'}>{word}</Badge>;
}

const DELIVERY_TONES: Readonly<Record<string, Tone>> = { pending: 'wait', delivered: 'good', failed: 'bad' };

export function DeliveryBadge({ state }: { readonly state: number }) {
  const word = wordFor(DELIVERY_STATES, state);
  return <Badge tone={DELIVERY_TONES[word] ?? 'calm'}>{word}</Badge>;
}
