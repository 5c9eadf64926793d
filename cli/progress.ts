// One line on standard error that says what takes so long: on a terminal only, and from the second second on.
import type { Streams } from './tools.ts';

const AFTER_MS = 1_000;
const EVERY_MS = 200;
const CELLS = 30;

export type Progress = {
  /** Shows a line, made anew each time it is drawn, above all that are shown already; undefined shows none. */
  show(line: (() => string) | undefined): { end(): void };
  /** Takes the line away until it is drawn again: to be called before anything else is written to the terminal. */
  clear(): void;
};

/** Nothing is ever shown in a pipe or a build (`CI`), nor on a terminal that cannot take a line back. */
export function createProgress(
  { stderr }: Pick<Streams, 'stderr'>,
  environment: NodeJS.ProcessEnv,
): Progress {
  const able = stderr.isTTY === true && !environment['CI'] && environment['TERM'] !== 'dumb';
  const shown: { readonly line: (() => string) | undefined; readonly since: number }[] = [];
  let timer: NodeJS.Timeout | undefined;
  let drawn = false;
  const clear = (): void => {
    if (drawn) stderr.write('\r\x1b[2K');
    drawn = false;
  };
  const draw = (): void => {
    const top = shown.at(-1);
    const elapsed = performance.now() - (top?.since ?? 0);
    if (top?.line === undefined || elapsed < AFTER_MS) return;
    const text = `${top.line()}, ${Math.floor(elapsed / 1000)} s`;
    stderr.write(`\r\x1b[2K${text.slice(0, (stderr.columns ?? 80) - 1)}`); // a line that wraps could not be taken back
    drawn = true;
  };
  return {
    clear,
    show(line) {
      const entry = { line, since: performance.now() };
      shown.push(entry);
      clear();
      if (able) timer ??= setInterval(draw, EVERY_MS).unref();
      return {
        end() {
          const index = shown.indexOf(entry);
          if (index >= 0) shown.splice(index, 1);
          clear();
          if (shown.length > 0) return;
          clearInterval(timer);
          timer = undefined;
        },
      };
    },
  };
}

/** `Issuing ███████░░░ 300/1000` */
export function bar(label: string, done: number, total: number): string {
  const full = total === 0 ? CELLS : Math.min(CELLS, Math.round((done / total) * CELLS));
  return `${label} ${'█'.repeat(full)}${'░'.repeat(CELLS - full)} ${done}/${total}`;
}

/** `12.3 MB` */
export function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
