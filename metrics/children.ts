// The numbers of a family, one for each set of label values.

/** As many values as there are labels, in their order. */
export type LabelValues<L extends readonly string[]> = { readonly [K in keyof L]: string };

export type Children<T> = {
  /** The same one each time: whoever counts often looks it up once. */
  of(values: readonly string[]): T;
  all(): Iterable<{ readonly labels: Readonly<Record<string, string>>; readonly child: T }>;
};

export function createChildren<T>(labels: readonly string[], make: () => T): Children<T> {
  const byValues = new Map<
    string,
    { readonly labels: Readonly<Record<string, string>>; readonly child: T }
  >();
  return {
    of(values) {
      const key = values.join('\0');
      let found = byValues.get(key);
      if (found === undefined) {
        found = {
          labels: Object.fromEntries(labels.map((name, at) => [name, values[at] ?? ''])),
          child: make(),
        };
        byValues.set(key, found);
      }
      return found.child;
    },
    all: () => byValues.values(),
  };
}
