// A sparkline of recent values. Decorative: the current value is beside it as text.

const WIDTH = 96;
const HEIGHT = 20;
/** Number of values that fill the width. */
const MOST = 60;

/** Grows to the right, then scrolls. */
export function Trend({ values }: { readonly values: readonly number[] }) {
  const shown = values.slice(-MOST);
  const top = Math.max(...shown, 0) || 1;
  const points = shown.map((value, index) => {
    const x = (index * WIDTH) / (MOST - 1);
    const y = HEIGHT - 1 - (value / top) * (HEIGHT - 2);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg class="trend" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} aria-hidden="true">
      <polyline points={points.join(' ')} />
    </svg>
  );
}
