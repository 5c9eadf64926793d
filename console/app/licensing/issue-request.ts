// The request of the form that issues licenses.
import { FieldError } from '../forms/form-errors.ts';
import { required, type Values } from '../forms/form-state.ts';
import { readPeriod } from '../forms/period-fields.tsx';
import { readLimits, readNames, readPairs, readTime, seatNumber, wholeNumber } from '../forms/values.ts';
import type { TermsKey } from './terms-fields.tsx';

export type IssueKey =
  | TermsKey
  | 'app'
  | 'whose'
  | 'customerId'
  | 'customer'
  | 'customerEmail'
  | 'count'
  | 'expiry'
  | 'expiresAt'
  | 'years'
  | 'months'
  | 'days';

/** Empty terms are left to the defaults of the app. @throws FieldError if a value is missing or cannot be read */
export function issueRequest(values: Values<IssueKey>) {
  const isGiven = (name: IssueKey): boolean => values[name].trim() !== '';
  return {
    app: required(values, 'app', 'Choose an app.'),
    count: wholeNumber('count', values.count),
    ...(isGiven('seatLimit') && { seatLimit: seatNumber('seatLimit', values.seatLimit) }),
    ...(isGiven('limitProfile') && { limitProfile: values.limitProfile }),
    limits: readLimits('limits', values.limits),
    features: readNames(values.features),
    ...(isGiven('graceDays') && { graceDays: wholeNumber('graceDays', values.graceDays) }),
    ...(isGiven('leaseDays') && { leaseDays: wholeNumber('leaseDays', values.leaseDays) }),
    metadata: readPairs('metadata', values.metadata),
    signedMetadata: readNames(values.signedMetadata),
    ...(values.expiry === 'time' && { expiresAt: readTime('expiresAt', values.expiresAt) }),
    ...(values.expiry === 'first' && { validFor: readPeriod(values) }),
    ...customerOf(values),
  };
}

function customerOf(values: Values<IssueKey>) {
  const { whose, customer, customerEmail } = values;
  if (whose === 'existing') return { customerId: required(values, 'customerId', 'Choose a customer.') };
  if (whose !== 'inline') return {};
  if (customer.trim() === '' && customerEmail.trim() === '') {
    throw new FieldError('customer', 'Enter a name, an email, or both.');
  }
  return {
    ...(customer.trim() !== '' && { customer: customer.trim() }),
    ...(customerEmail.trim() !== '' && { customerEmail: customerEmail.trim() }),
  };
}
