// The fields of a calendar period.
import type { CalendarPeriod } from '../../../lib/presentation/calendar.ts';
import { wholeNumber } from './field-values.ts';
import { TextField } from './fields.tsx';
import { FieldError } from './form-errors.ts';
import type { Form, Values } from './form-state.ts';

export const NO_PERIOD = { years: '', months: '', days: '' };

type PeriodKey = keyof typeof NO_PERIOD;

export function PeriodFields({ form }: { readonly form: Form<PeriodKey> }) {
  return (
    <div class="field-row">
      <TextField form={form} name="years" label="Years" />
      <TextField form={form} name="months" label="Months" />
      <TextField form={form} name="days" label="Days" />
    </div>
  );
}

/** Empty fields are 0. @throws FieldError if all are, or one is no number */
export function readPeriod(values: Values<PeriodKey>): CalendarPeriod {
  const part = (name: PeriodKey): number =>
    values[name].trim() === '' ? 0 : wholeNumber(name, values[name]);
  const period = { years: part('years'), months: part('months'), days: part('days') };
  if (period.years + period.months + period.days > 0) return period;
  throw new FieldError('years', 'Enter at least one year, month or day.');
}
