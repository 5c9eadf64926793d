// Shows a progress line on standard error after one second, on a terminal only.
import type { Streams } from '../streams.ts';

const AFTER_MS = 1_000;
const EVERY_MS = 200;
const CELLS = 30;

export type Progress = {
  /** Shows a line above all lines shown already and computes it at each redraw; undefined shows none. */
  show(line: (() => string) | undefined): { end(): void };
  /** Clears the line until the next redraw. Call it before writing anything else to the terminal. */
  clear(): void;
};

/** Shows nothing in a pipe, in a build (`CI`), or on a terminal that cannot clear a line. */
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
    stderr.write(`\r\x1b[2K${text.slice(0, (stderr.columns ?? 80) - 1)}`); // a wrapped line could not be cleared
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
