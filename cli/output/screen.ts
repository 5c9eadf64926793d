// Draws lines on a terminal in place of the lines drawn before.

import type { Streams } from '../streams.ts';
import type { Output } from './output.ts';
import { textWidth } from './text-width.ts';

export type Screen = {
  size(): { readonly rows: number; readonly columns: number };
  /** Draws the lines, cut to the screen: lines that have scrolled away cannot be redrawn. */
  draw(lines: readonly string[]): Promise<void>;
};

export function createScreen({ stdout }: Pick<Streams, 'stdout'>, out: Output): Screen {
  let height = 0;
  const size = () => ({ rows: stdout.rows ?? 24, columns: stdout.columns ?? 80 });
  return {
    size,
    async draw(lines) {
      const { rows, columns } = size();
      const fitting = lines.slice(0, Math.max(1, rows - 1));
      const drawn = fitting.map((line) => `${cut(line, columns - 1)}\x1b[K\n`).join('');
      const back = height === 0 ? '' : `\x1b[${height}A\r`;
      height = fitting.length;
      await out.text(`${back}${drawn}\x1b[J`);
    },
  };
}

function cut(line: string, width: number): string {
  if (textWidth(line) <= width) return line;
  let end = Math.min(line.length, width);
  while (textWidth(line.slice(0, end)) > width) end -= 1;
  return line.slice(0, end);
}
