// The request of the form that issues licenses.
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { FieldError } from '../forms/form-errors.ts';
import { required, type Values } from '../forms/form-state.ts';
import { NO_PERIOD, readPeriod } from '../forms/period-fields.tsx';
import { readTime, wholeNumber } from '../forms/values.ts';
import { NO_TERMS, readGivenTerms } from './terms-values.ts';

/** The first values of the form. */
export const NEW_LICENSE = {
  ...NO_TERMS,
  ...NO_PERIOD,
  app: '',
  whose: 'none',
  customerId: '',
  customer: '',
  customerEmail: '',
  count: '1',
  expiry: 'never',
  expiresAt: '',
};

export type IssueKey = keyof typeof NEW_LICENSE;

/** @throws FieldError if a value is missing or cannot be read */
export function issueRequest(values: Values<IssueKey>) {
  return {
    app: required(values, 'app', 'Choose an app.'),
    count: wholeNumber('count', values.count),
    ...readGivenTerms(values),
    ...(values.expiry === 'time' && { expiresAt: readTime('expiresAt', values.expiresAt) }),
    ...(values.expiry === 'first' && { validFor: readPeriod(values) }),
    ...customerOf(values),
  };
}

function customerOf(values: Values<IssueKey>) {
  if (values.whose === 'existing')
    return { customerId: required(values, 'customerId', 'Choose a customer.') };
  if (values.whose !== 'inline') return {};
  const customer = values.customer.trim();
  const customerEmail = values.customerEmail.trim();
  if (customer + customerEmail === '') {
    throw new FieldError('customer', 'Enter a name, an email, or both.');
  }
  return omitEmpty({ customer, customerEmail });
}
