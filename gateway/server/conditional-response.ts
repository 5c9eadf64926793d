// Responses to conditional requests, and the negotiation of their compression (RFC 9110 sections 12 and 13).
import type { Call, RouteResponse } from '../routes/route.ts';

/**
 * Returns the response with a strong entity tag; 304 if the client has it already (RFC 9110 section 13.1.2).
 *
 * @param tag without quotes
 */
export function tagged(
  { headers }: Call,
  tag: string,
  contentType: string,
  body: string | Buffer,
  cacheControl = 'public, max-age=300',
): RouteResponse {
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

/** Whether Accept-Encoding permits gzip (RFC 9110 section 12.5.3). Without the header, responses are not compressed. */
export function takesGzip(accepted = ''): boolean {
  const weights = new Map(accepted.toLowerCase().split(',').map(weightOf));
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

function weightOf(item: string): [coding: string, weight: number] {
  const [coding = '', ...parameters] = item.split(';').map((part) => part.trim());
  const weight = parameters.find((each) => each.startsWith('q='))?.slice('q='.length);
  return [coding, weight === undefined ? 1 : Number(weight)];
}
