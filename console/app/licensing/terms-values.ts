// The terms of a license as values of a form.

import { readLimits, readNames, readPairs, seatNumber, wholeNumber } from '../forms/field-values.ts';
import { emptyValues, type Values } from '../forms/form-state.ts';

export const TERM_LABELS = {
  seatLimit: 'Seats',
  limitProfile: 'Limit profile',
  limits: 'Own limits',
  features: 'Features',
  graceDays: 'Grace in days',
  leaseDays: 'Offline lease in days',
  metadata: 'Metadata',
  signedMetadata: 'Signed metadata',
};

export type TermsKey = keyof typeof TERM_LABELS;

export const NO_TERMS = emptyValues(TERM_LABELS);

/** The terms that are wanted. @throws FieldError if a value cannot be read */
export function readTerms(values: Values<TermsKey>, isWanted: (name: TermsKey) => boolean) {
  return {
    ...(isWanted('seatLimit') && { seatLimit: seatNumber('seatLimit', values.seatLimit) }),
    ...(isWanted('limitProfile') && values.limitProfile !== '' && { limitProfile: values.limitProfile }),
    ...(isWanted('limits') && { limits: readLimits('limits', values.limits) }),
    ...(isWanted('features') && { features: readNames(values.features) }),
    ...(isWanted('graceDays') && { graceDays: wholeNumber('graceDays', values.graceDays) }),
    ...(isWanted('leaseDays') && { leaseDays: wholeNumber('leaseDays', values.leaseDays) }),
    ...(isWanted('metadata') && { metadata: readPairs('metadata', values.metadata) }),
    ...(isWanted('signedMetadata') && { signedMetadata: readNames(values.signedMetadata) }),
  };
}

/** The terms that are given: the others are left to the defaults of the app. @throws FieldError */
export function readGivenTerms(values: Values<TermsKey>) {
  return readTerms(values, (name) => values[name].trim() !== '');
}
