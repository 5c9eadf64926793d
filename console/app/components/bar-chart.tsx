// A bar chart with one bar for each day. Hidden from screen readers: a table has the same data.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { minorDigits } from '../../../lib/presentation/money.ts';
import { useValue } from '../observable-state.ts';
import { isSystemDark, theme } from '../theme.ts';
import { decimalText } from './values.tsx';

export type BarChartProps = {
  readonly title: string;
  readonly currency: string;
  /** Days in UTC with minor units. */
  readonly bars: readonly (readonly [day: string, minorUnits: bigint])[];
};

const HEIGHT = 180;
/** In seconds. */
const HALF_A_DAY = 43_200;
const DAY = new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', day: 'numeric', month: 'short' });

export function BarChart({ title, currency, bars }: BarChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const shownTheme = useValue(theme);
  const isDark = useValue(isSystemDark);
  const [pointed, setPointed] = useState<number | undefined>();
  // Redraws when visible data changes.
  const drawing = JSON.stringify([
    bars.map(([day, minorUnits]) => [day, String(minorUnits)]),
    shownTheme,
    isDark,
  ]);

  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const chart = new uPlot(optionsOf(element, currency, setPointed), dataOf(bars, currency), element);
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [drawing, currency]);

  const [day, minorUnits] = (pointed === undefined ? undefined : bars[pointed]) ?? [];
  return (
    <figure class="chart" aria-hidden="true">
      <figcaption>
        {title}{' '}
        <span class="muted">{day !== undefined && `${day}: ${decimalText(minorUnits ?? 0n, currency)}`}</span>
      </figcaption>
      <div ref={place} />
    </figure>
  );
}

/** Approximate: only for the height of bars. */
function dataOf(bars: BarChartProps['bars'], currency: string): uPlot.AlignedData {
  const unit = 10 ** minorDigits(currency);
  return [
    bars.map(([day]) => Date.parse(day) / 1000),
    bars.map(([, minorUnits]) => Number(minorUnits) / unit),
  ];
}

function optionsOf(
  element: HTMLElement,
  currency: string,
  onPoint: (index: number | undefined) => void,
): uPlot.Options {
  // A canvas does not support light-dark(): an element's computed color resolves it.
  const color = (name: string): string => {
    element.style.color = `var(${name})`;
    return getComputedStyle(element).color;
  };
  const axis = { stroke: color('--muted'), font: `11px ${getComputedStyle(element).fontFamily}` };
  const grid = { stroke: color('--line'), width: 1 };
  const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 2 });
  return {
    width: element.clientWidth,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false }, sync: { key: currency } },
    scales: {
      x: { range: (_, first, last) => [first - HALF_A_DAY, last + HALF_A_DAY] },
      y: { range: (_, _least, most) => [0, most > 0 ? most * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        ticks: { show: false },
        size: 30,
        gap: 8,
        incrs: [1, 2, 7, 14, 30, 60, 90].map((days) => days * 2 * HALF_A_DAY),
        values: (_, ticks) => ticks.map((tick) => DAY.format(tick * 1000)),
      },
      {
        ...axis,
        grid,
        ticks: { show: false },
        size: 56,
        values: (_, ticks) => ticks.map((tick) => short.format(tick)),
      },
    ],
    series: [
      {},
      {
        fill: color('--accent'),
        stroke: color('--accent'),
        width: 0,
        points: { show: false },
        ...(uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.75, 28], radius: 0.15 }) }),
      },
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)] },
  };
}
