// Languages of templates, as BCP 47 tags, and the order in which a mail looks for its template.
import { HubError } from '../../errors.ts';

export const DEFAULT_LANGUAGE = 'en';

/** The canonical form of a tag, such as `bn-BD` for `BN-bd`; undefined if it is no tag. */
function canonical(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

/** @param tag empty means English. @throws HubError `language_invalid` */
export function parseLanguage(tag: string): string {
  const language = canonical(tag || DEFAULT_LANGUAGE);
  if (language !== undefined) return language;
  const message = 'the language must be a BCP 47 tag, such as en or bn-BD';
  throw new HubError('language_invalid', message, { field: 'language' });
}

/** From the special to the general, English last: `bn-BD`, `bn`, `en`. An invalid tag means English. */
export function fallbacksOf(tag: string): readonly string[] {
  const parts = (canonical(tag || DEFAULT_LANGUAGE) ?? DEFAULT_LANGUAGE).split('-');
  const tags = parts.map((_, index) => parts.slice(0, parts.length - index).join('-'));
  return [...new Set([...tags, DEFAULT_LANGUAGE])];
}
