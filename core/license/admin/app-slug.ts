// The slug of an app: its name in URLs and in signed licenses.
import { HubError } from '../../errors.ts';

export function appUnknown(): HubError {
  return new HubError('app_unknown', 'there is no app with this slug', { field: 'app' });
}
