// Tables, with a text for an empty list.
import type { ComponentChildren } from 'preact';
import { shown, type Value } from './values.tsx';

export type Column<T> = {
  readonly title: string;
  readonly cell: (row: T) => Value;
  /** `number`: aligned right. `long`: takes the remaining width. `named`: shows its title on narrow screens. */
  readonly kind?: 'number' | 'long' | 'named';
  /** Hidden on narrow screens. */
  readonly wide?: boolean;
};

export type TableProps<T> = {
  /** Caption for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** Text without rows. */
  readonly empty: ComponentChildren;
};

export function Table<T>({ caption, columns, rows, keyOf, empty }: TableProps<T>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <div class="table-scroll">
      <table>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.title} scope="col" class={classOf(column)}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.title} class={classOf(column)} data-title={column.title}>
                  {shown(column.cell(row))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf<T>({ kind, wide }: Column<T>): string {
  return [kind, wide && 'wide'].filter(Boolean).join(' ');
}
