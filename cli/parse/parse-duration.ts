// Parses a duration in days, weeks or years: `30d`, `2w`, `1y`.
const DAY_MS = 86_400_000;

const DURATION = /^(\d{1,5})([dwy])$/;

export function isDuration(text: string): boolean {
  return DURATION.test(text);
}

/** The time that is the duration after `start`; undefined if the text is not a duration. */
export function addDuration(start: Date, duration: string): Date | undefined {
  const [, amount, unit] = DURATION.exec(duration) ?? [];
  if (amount === undefined) return undefined;
  if (unit !== 'y') return new Date(start.getTime() + Number(amount) * (unit === 'w' ? 7 : 1) * DAY_MS);
  const time = new Date(start);
  time.setUTCFullYear(time.getUTCFullYear() + Number(amount));
  return time;
}
