// Lists what an edit changes, as the effect of its form.
import type { ComponentChildren } from 'preact';
import type { Values, WholeForm } from './form-state.ts';

type ChangesProps<K extends string> = {
  readonly form: WholeForm<K>;
  readonly labels: Readonly<Record<K, string>>;
  /** The text of one of these values. */
  readonly textOf: (name: K, values: Values<K>) => string;
  /** A sentence that introduces the list. */
  readonly lead?: string;
  readonly children?: ComponentChildren;
};

export function Changes<K extends string>({ form, labels, textOf, lead, children }: ChangesProps<K>) {
  const { first, changed, values } = form;
  if (changed.length === 0) return <p>Nothing is changed yet.</p>;
  return (
    <>
      {lead !== undefined && <p>{lead}</p>}
      <ul>
        {changed.map((name) => (
          <li key={name}>
            {labels[name]}: {textOf(name, first)} → {textOf(name, values)}
          </li>
        ))}
      </ul>
      {children}
    </>
  );
}
