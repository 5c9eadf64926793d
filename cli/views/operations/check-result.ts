// JSON schema and columns of doctor's check results.
import { object, oneOf, optional, text, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';

export const CHECK_RESULT = object('CheckResult', {
  check: text('the check'),
  state: oneOf(['ok', 'warning', 'failed', 'skipped'], 'state of the check'),
  detail: text('the result'),
  remedy: optional(text('remedy for a failed check')),
});
export type CheckResult = ValueOf<typeof CHECK_RESULT>;

export const CHECK_RESULT_COLUMNS: readonly Column<CheckResult>[] = [
  { title: 'CHECK', cell: (item) => item.check },
  { title: 'STATE', cell: (item) => item.state },
  {
    title: 'DETAIL',
    cell: ({ detail, remedy }) =>
      remedy ? `${detail.replace(/[.]$/, '')}. Remedy: ${remedy.replace(/[.]$/, '')}.` : detail,
  },
];
