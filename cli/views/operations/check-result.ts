// JSON schema and columns of doctor's check results.
import { type Column, columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';

export const CHECK_RESULT = json.object('CheckResult', {
  check: json.text('the check'),
  state: json.oneOf(['ok', 'warning', 'failed', 'skipped'], 'state of the check'),
  detail: json.text('the result'),
  remedy: json.optional(json.text('remedy for a failed check')),
});
export type CheckResult = json.ValueOf<typeof CHECK_RESULT>;

export const CHECK_RESULT_COLUMNS: readonly Column<CheckResult>[] = [
  ...columnsOf(CHECK_RESULT, 'check', 'state'),
  {
    title: 'Detail',
    cell: ({ detail, remedy }) =>
      remedy ? `${detail.replace(/[.]$/, '')}. Remedy: ${remedy.replace(/[.]$/, '')}.` : detail,
  },
];
