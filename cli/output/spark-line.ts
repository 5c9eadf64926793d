// Draws a row of numbers as a sparkline, one character each.

const BARS = ' ▁▂▃▄▅▆▇█';

/** Right-aligns the latest numbers; the largest has full height. Any number above zero is visible. */
export function sparkLine(values: readonly number[], width: number): string {
  const shown = values.slice(-width);
  const most = Math.max(...shown, 0);
  const bars = shown.map((value) =>
    value <= 0 ? BARS[1] : BARS[Math.max(2, Math.round((value / most) * 8))],
  );
  return bars.join('').padStart(width);
}
