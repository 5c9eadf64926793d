// A row of numbers as a small picture, one character each.

const BARS = ' ▁▂▃▄▅▆▇█';

/** The last of them stand to the right; the largest is as high as a line. Anything above zero shows. */
export function sparkLine(values: readonly number[], width: number): string {
  const shown = values.slice(-width);
  const most = Math.max(...shown, 0);
  const bars = shown.map((value) =>
    value <= 0 ? BARS[1] : BARS[Math.max(2, Math.round((value / most) * 8))],
  );
  return bars.join('').padStart(width);
}
