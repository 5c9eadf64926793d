// Answers that clients may keep, and ask about by their entity tag.
import type { Answer, Call } from './routes.ts';

/**
 * The answer with a strong entity tag; 304 if the client has it already (RFC 9110 section 13.1.2).
 *
 * @param tag without quotes
 */
export function tagged(
  { headers }: Call,
  tag: string,
  contentType: string,
  body: string | Buffer,
  cacheControl = 'public, max-age=300',
): Answer {
  const etag = `"${tag}"`;
  const known = headers['if-none-match']?.split(',').map((each) => each.trim().replace(/^W\//, ''));
  const fresh = known?.some((each) => each === etag || each === '*') ?? false;
  return {
    status: fresh ? 304 : 200,
    contentType,
    body: fresh ? '' : body,
    headers: ['ETag', etag],
    cacheControl,
  };
}
