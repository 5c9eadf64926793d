// A list of names and values that describes one resource.
import { shown, type Value } from './values.tsx';

export type Fact = readonly [name: string, value: Value];

type FactsProps = {
  readonly facts: readonly Fact[];
  /** Shows large figures beside each other. */
  readonly areTotals?: boolean;
};

/** Omits facts without a value. */
export function Facts({ facts, areTotals = false }: FactsProps) {
  return (
    <dl class={areTotals ? 'totals' : 'facts'}>
      {facts.map(([name, value]) =>
        value === '' || value === undefined || value === null || value === false ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{shown(value)}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** Metadata or fields as name-value pairs. */
export function pairFacts(pairs: Readonly<Record<string, string>>, prefix = ''): [string, string][] {
  const sorted = Object.entries(pairs).sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([name, value]) => [`${prefix}${name}`, value]);
}
