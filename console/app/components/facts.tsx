// What there is to know of one thing: names and values.
import type { ComponentChildren } from 'preact';

export type Fact = readonly [name: string, value: ComponentChildren];

/** Facts without a value are left out. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === '' || value === undefined || value === null || value === false ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

/** Pairs of the caller's or the provider's own. */
export function pairFacts(pairs: Readonly<Record<string, string>>): Fact[] {
  return Object.entries(pairs).sort(([one], [other]) => (one < other ? -1 : 1));
}
