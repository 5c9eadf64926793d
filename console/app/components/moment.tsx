// Times: in the zone of the browser or in UTC, as chosen for all of them; the other one is told on hover.
import type { Timestamp } from '@bufbuild/protobuf/wkt';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { createState, useValue } from '../state.ts';

export type Zone = 'local' | 'UTC';
export const zone = createState<Zone>('local');

type MomentProps = {
  readonly at: Timestamp | Date | undefined;
  /** To the millisecond. */
  readonly exact?: boolean;
  /** What is shown when there is none. */
  readonly none?: string;
};

export function Moment({ at, exact = false, none = '' }: MomentProps) {
  const shown = useValue(zone);
  if (at === undefined) return <span class="muted">{none}</span>;
  const date = dateOf(at);
  const other = shown === 'UTC' ? 'local' : 'UTC';
  return (
    <time class="moment" dateTime={date.toISOString()} title={`${momentText(date, other, true)} ${other}`}>
      {momentText(date, shown, exact)}
    </time>
  );
}

export function dateOf(at: Timestamp | Date): Date {
  return at instanceof Date ? at : timestampDate(at);
}

/** `21 Nov 20:41:05`; with the year if that is not the present one. */
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

/** `3 min`, `2 h`, `5 days`: how long something took or has lasted. */
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
