// Makes one statement of several writes.
import type { QueryConfig } from 'pg';

export type Write = Pick<QueryConfig, 'text' | 'values'>;

/**
 * A statement that does all of them, under a name of its own: for the same writes in the same order only. None sees what
 * another does, and no two may change the same row.
 */
export function joinWrites({ name, writes }: { name: string; writes: readonly Write[] }): QueryConfig {
  const values: unknown[] = [];
  const parts = writes.map((write, index) => {
    const before = values.length;
    values.push(...(write.values ?? []));
    const text = write.text.replace(/\$(\d+)/g, (_, number) => `$${before + Number(number)}`);
    return `write_${index} as (${text})`;
  });
  return { name, text: `with ${parts.join(', ')} select`, values };
}
