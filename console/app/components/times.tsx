// Times in the browser's time zone or UTC, as chosen; hovering shows the other. And durations.
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import { createState, useValue } from '../observable-state.ts';

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
