// Parses application/x-www-form-urlencoded text strictly: each field once, in UTF-8 (WHATWG URL section 5.1).
import { fieldProblem, Problem } from '../problem.ts';

/** Fields by name. Has no prototype, so that `__proto__` is an ordinary field. */
export type FormFields = { readonly [name: string]: string };

/**
 * Returns the fields of a form body or a query. Empty pairs are skipped.
 * @throws Problem invalid_request for a broken percent escape, invalid UTF-8, a NUL, a repeated field, or a
 * name with brackets: servers read those differently
 */
export function parseForm(text: string): FormFields {
  const fields: Record<string, string> = Object.create(null);
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const { name, value } = decodePair(pair);
    // PostgreSQL cannot store it in text.
    if (name.includes('\0') || value.includes('\0'))
      throw new Problem('invalid_request', 'A field contains a NUL character.');
    if (name in fields) throw fieldProblem(name, 'must appear only once');
    if (/[[\]]/.test(name)) throw fieldProblem(name, 'must be a single field: arrays are not supported');
    fields[name] = value;
  }
  return fields;
}

/**
 * Decodes the name and the value of a `name=value` pair.
 * @throws Problem invalid_request
 */
export function decodePair(pair: string): { name: string; value: string } {
  const equals = pair.indexOf('=');
  return equals === -1
    ? { name: decode(pair), value: '' }
    : { name: decode(pair.slice(0, equals)), value: decode(pair.slice(equals + 1)) };
}

/** Decodes percent escapes; a plus sign is a space. */
function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new Problem('invalid_request', 'A field has a percent escape that is broken or not UTF-8.');
  }
}
