// The slug of an app: its name in URLs and in signed licenses.
import { HubError } from '../errors.ts';

/** 1 to 63 lower-case ASCII letters, digits and inner dashes; the same rule as in CreateAppRequest. */
export function isSlug(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}

export function appUnknown(): HubError {
  return new HubError('app_unknown', 'there is no app with this slug', { field: 'app' });
}
