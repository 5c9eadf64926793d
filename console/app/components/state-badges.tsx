// The states of objects, as a word and a color.
import { CHARGE_STATUSES, wordFor } from '../../../lib/presentation/enum-names.ts';

/** `calm`: neither good nor bad. */
export type Tone = keyof typeof STATES | 'calm';

/** The states with a color. A word means the same for every kind of object. */
const STATES = {
  good: 'active delivered enabled fulfilled in_force ok paid sent settled succeeded success',
  wait: 'failing grace pending queued received suspended warning',
  bad: 'blocked dead failed mismatch reversed revoked unavailable withdrawn',
};

/** `tone`: by default that of the state that `children` names. */
export function Badge({ children, tone }: { readonly children: string; readonly tone?: Tone }) {
  return <span class={`badge ${tone ?? toneOf(children)}`}>{children}</span>;
}

function toneOf(state: string): Tone {
  const tones = Object.keys(STATES) as (keyof typeof STATES)[]; // the keys are the tones
  return tones.find((tone) => STATES[tone].split(' ').includes(state)) ?? 'calm';
}

type StateProps = { readonly of: Readonly<Record<string, number>>; readonly state: number };

/** The state of an object; `of`: the words of its states. */
export function StateBadge({ of, state }: StateProps) {
  const word = wordFor(of, state);
  return <Badge tone={toneOf(word)}>{TEXTS[word] ?? word}</Badge>;
}

const TEXTS: Readonly<Record<string, string>> = { in_force: 'in force', received: 'waiting' };

/** `verified`: whether the provider confirmed the status. */
export function StatusBadge({ status, verified }: { readonly status: number; readonly verified: boolean }) {
  return (
    <>
      <StateBadge of={CHARGE_STATUSES} state={status} />
      {!verified && status !== CHARGE_STATUSES.pending && (
        <span class="muted doubt" title="Reported by a callback; not confirmed by the provider">
          {' unconfirmed'}
        </span>
      )}
    </>
  );
}
