// Applies the fields that a field mask names to the personal data of a customer.
import { HubError, updateMaskInvalid } from '../errors.ts';
import type { PersonalData } from './lock-customer.ts';

const MAX_METADATA = 50;
const METADATA_ENTRY = /^metadata\.([A-Za-z][A-Za-z0-9._-]{0,63})$/;

/**
 * Returns `current` with the values of `update` in the fields that `paths` names.
 *
 * @throws HubError `update_mask_invalid`, `too_many`
 */
export function applyMask(
  current: PersonalData,
  update: PersonalData,
  paths: readonly string[],
): PersonalData {
  if (paths.length === 0) throw updateMaskInvalid('name at least one field');
  const changed = paths.reduce((data, path) => applyPath(data, update, path), current);
  if (changed.name === '')
    throw updateMaskInvalid('a customer needs a name: set name, or leave it out of the mask');
  if (Object.keys(changed.metadata).length > MAX_METADATA) {
    const message = `a customer has at most ${MAX_METADATA} entries of metadata`;
    throw new HubError('too_many', message, { field: 'metadata' });
  }
  return changed;
}

function applyPath(data: PersonalData, update: PersonalData, path: string): PersonalData {
  switch (path) {
    case 'name':
      return { ...data, name: update.name };
    case 'email':
      return { ...data, email: update.email };
    case 'external_ref':
      return { ...data, externalRef: update.externalRef };
    case 'metadata':
      return { ...data, metadata: update.metadata };
    default:
      return { ...data, metadata: applyEntry(data.metadata, update.metadata, path) };
  }
}

function applyEntry(
  current: PersonalData['metadata'],
  update: PersonalData['metadata'],
  path: string,
): PersonalData['metadata'] {
  const [, name] = METADATA_ENTRY.exec(path) ?? [];
  if (name === undefined) {
    const known = 'name, email, external_ref, metadata, or metadata. and the name of an entry';
    throw updateMaskInvalid(`"${path}" is not a field that can change: use ${known}`);
  }
  const { [name]: _, ...others } = current;
  const value = Object.hasOwn(update, name) ? update[name] : undefined;
  return value === undefined ? others : { ...others, [name]: value };
}
