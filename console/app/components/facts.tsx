// A list of names and values that describes one resource.
import type { ComponentChildren } from 'preact';

export type Fact = readonly [name: string, value: ComponentChildren];

/** Omits facts without a value. */
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

/** Metadata or fields as name-value pairs. */
export function pairFacts(pairs: Readonly<Record<string, string>>): Fact[] {
  return Object.entries(pairs).sort(([one], [other]) => (one < other ? -1 : 1));
}
