// A progress bar on standard error, drawn on a terminal only.
import type { Streams } from './context.ts';

const CELLS = 30;

export type Progress = { update(done: number): void; end(): void };

/** @param total Undefined where it is not known how many there will be: then they are counted only. */
export function createProgress({ stderr }: Streams, label: string, total: number | undefined): Progress {
  if (stderr.isTTY !== true) return { update: () => {}, end: () => {} };
  return {
    update: (done) => {
      if (total === undefined) {
        stderr.write(`\r${label} ${done}`);
        return;
      }
      const full = Math.round((done / total) * CELLS);
      stderr.write(`\r${label} ${'█'.repeat(full)}${'░'.repeat(CELLS - full)} ${done}/${total}`);
    },
    end: () => {
      stderr.write('\r\x1b[2K'); // the bar leaves no trace
    },
  };
}
