// JSON schema and columns of doctor's findings.
import { object, oneOf, optional, text, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';

export const FINDING = object('Finding', {
  check: text('the check'),
  state: oneOf(['ok', 'warning', 'failed', 'skipped'], 'state of the check'),
  detail: text('the result'),
  remedy: optional(text('remedy for a failed check')),
});
export type Finding = ValueOf<typeof FINDING>;

export const FINDING_COLUMNS: readonly Column<Finding>[] = [
  { title: 'CHECK', cell: (item) => item.check },
  { title: 'STATE', cell: (item) => item.state },
  {
    title: 'DETAIL',
    cell: ({ detail, remedy }) =>
      remedy ? `${detail.replace(/[.]$/, '')}. Remedy: ${remedy.replace(/[.]$/, '')}.` : detail,
  },
];
