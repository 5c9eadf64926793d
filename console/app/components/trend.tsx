// How a number went lately, as a small line. It says nothing that does not stand beside it in digits.

const WIDTH = 96;
const HEIGHT = 20;
/** So many values fill it. */
const MOST = 60;

/** It grows to the right, and then moves to the left. */
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
