// What stands within a line: amounts of money, states, ids, times and limits.
import { isMessage } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema, timestampDate } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import type { SeatUsage } from '../../../gen/hub/error/v1/error_pb.ts';
import { type Money, MoneySchema } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CHARGE_STATUSES, wordFor } from '../../../lib/presentation/enum-names.ts';
import { formatDecimal } from '../../../lib/presentation/money.ts';
import { announce } from '../announce.ts';
import { createState, useValue } from '../observable-state.ts';
import { linkToId } from '../route.ts';

export type Value = ComponentChildren | Date | Timestamp | Money;

/** Formats times and amounts of money. Returns any other value unchanged. */
export function shown(value: Value): ComponentChildren {
  if (value instanceof Date || isMessage(value, TimestampSchema)) return <Moment at={value} />;
  return isMessage(value, MoneySchema) ? <Amount money={value} /> : value;
}

// Amounts of money: exact, with the digits of the currency and thousands separators.

export function Amount({ money }: { readonly money: Money | undefined }) {
  if (money === undefined) return null;
  return (
    <span class="amount">
      {decimalText(money.minorUnits, money.currency)} <span class="currency">{money.currency}</span>
    </span>
  );
}

/** `1,234,567.50` from minor units. */
export function decimalText(minorUnits: bigint, currency: string): string {
  const [whole = '', fraction] = formatDecimal(minorUnits, currency).split('.');
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

// Badges: a state as a word and a color.

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

// Identifiers: shortened in lists, in full on their page, linked to their page.

/** Default of `text`: `chs_…dhf733z5`. The start encodes the time and differs little within a list. */
export function ShortId({ id, text = shortened(id) }: { readonly id: string; readonly text?: string }) {
  if (id === '') return null;
  const link = linkToId(id);
  if (link === undefined) return <code title={id}>{text}</code>;
  return (
    <a class="id" href={link} title={id}>
      <code>{text}</code>
    </a>
  );
}

function shortened(id: string): string {
  return id.length > 16 ? `${id.slice(0, id.indexOf('_') + 1)}…${id.slice(-8)}` : id;
}

export function WholeId({ id }: { readonly id: string }) {
  if (id === '') return null;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(id);
    announce(`Copied ${id}`);
  };
  return (
    <span class="whole-id">
      <code>{id}</code>
      {/* Browsers allow clipboard access only on localhost or over TLS. */}
      {isSecureContext && (
        <button type="button" class="quiet" onClick={copy} aria-label={`Copy ${id}`}>
          Copy
        </button>
      )}
    </span>
  );
}

/** Text whose identifiers are links. */
export function WithLinks({ text }: { readonly text: string }) {
  const parts = text.split(/(\b(?:chs|use|ord|ofr|cb|lic|cus|evt|whe)_[0-9a-z]{26}\b)/);
  return <>{parts.map((part, index) => (index % 2 === 1 ? <ShortId key={part} id={part} /> : part))}</>;
}

// Times in the browser's time zone or UTC, as chosen; hovering shows the other.

export type Zone = 'local' | 'UTC';
export const zone = createState<Zone>('local');

type MomentProps = {
  readonly at: Timestamp | Date | undefined;
  /** Shows milliseconds. */
  readonly exact?: boolean;
  /** Text without a time. */
  readonly none?: string;
};

export function Moment({ at, exact = false, none = '' }: MomentProps) {
  const shownZone = useValue(zone);
  if (at === undefined) return <span class="muted">{none}</span>;
  const date = at instanceof Date ? at : timestampDate(at);
  const other = shownZone === 'UTC' ? 'local' : 'UTC';
  return (
    <time class="moment" dateTime={date.toISOString()} title={`${momentText(date, other, true)} ${other}`}>
      {momentText(date, shownZone, exact)}
    </time>
  );
}

/** A text before a time; nothing without a time. */
export function MomentAfter({ text, at }: { readonly text: string; readonly at: MomentProps['at'] }) {
  if (at === undefined) return null;
  return (
    <>
      {text}
      <Moment at={at} />
    </>
  );
}

/** `21 Nov 20:41:05`; with the year if it is not the current one. */
export function momentText(date: Date, where: Zone, exact = false): string {
  const isThisYear = date.getFullYear() === new Date().getFullYear();
  const format = new Intl.DateTimeFormat('en-GB', {
    ...(where === 'UTC' && { timeZone: 'UTC' }),
    ...(!isThisYear && { year: 'numeric' }),
    day: '2-digit',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    ...(exact && { fractionalSecondDigits: 3 }),
    hourCycle: 'h23',
  });
  return format.format(date).replace(',', '');
}

/** Formats a duration: `3 min`, `2 h`, `5 days`. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}

/** `+120 ms`, `+2.4 s`, `+3 min` */
export function gapText(ms: number): string {
  if (ms < 1000) return `+${ms} ms`;
  return ms < 10_000 ? `+${(ms / 1000).toFixed(1)} s` : `+${spanText(ms)}`;
}

// Seats and limits of a license.

export function Seats({ seats }: { readonly seats: SeatUsage | undefined }) {
  if (seats === undefined) return null;
  const { used, limit } = seats;
  return (
    <span class="seats">
      {used} of {limitText(limit)}
      {limit > 0 && <meter min={0} max={limit} value={used} aria-hidden="true" />}
    </span>
  );
}

export function limitText(limit: number | bigint): string {
  return Number(limit) === -1 ? 'unlimited' : String(limit);
}

/** `exports: unlimited, projects: 10`; `none` without limits */
export function limitsText(limits: Readonly<Record<string, bigint>>): string {
  const sorted = Object.entries(limits).sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([name, limit]) => `${name}: ${limitText(limit)}`).join(', ') || 'none';
}
