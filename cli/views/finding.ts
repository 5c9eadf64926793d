// What doctor found as hubctl prints it.
import { type Of, object, oneOf, optional, text } from '../shapes.ts';
import type { Column } from '../table.ts';

export const FINDING = object('Finding', {
  check: text('what was looked at'),
  state: oneOf(['ok', 'warning', 'failed', 'skipped'], 'how it is'),
  detail: text('what was found'),
  remedy: optional(text('what to do about it, if it is not well')),
});
export type Finding = Of<typeof FINDING>;

export const FINDING_COLUMNS: readonly Column<Finding>[] = [
  { title: 'CHECK', cell: (item) => item.check },
  { title: 'STATE', cell: (item) => item.state },
  {
    title: 'DETAIL',
    cell: ({ detail, remedy }) =>
      remedy ? `${detail.replace(/[.]$/, '')}. To mend it: ${remedy.replace(/[.]$/, '')}.` : detail,
  },
];
