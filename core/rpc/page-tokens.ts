// Page tokens: a position in a list, sealed for that list, its filters and the scope of the caller. A token
// reveals nothing and works nowhere else, so callers cannot use tokens to guess ids.
import { createSecretKey, hkdfSync } from 'node:crypto';
import { clone, type DescMethod, type Message, toBinary } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { callerKey } from '../access/caller.ts';
import type { Scope } from '../access/entities.ts';
import type { MasterKey } from '../storage/secrets/key-ring-file.ts';
import { createSealer } from '../storage/secrets/sealing.ts';
import { pageTokenInvalid } from '../storage/sql/page.ts';

const LABEL = 'hub page tokens';
const ID_BYTES = 8;
const KEY_BYTES = 32;
const LONGEST = 300;

export type PageTokens = ReturnType<typeof createPageTokens>;

/**
 * Derives its keys from the master keys, so that all hubs of a database share them without storing them.
 * Tokens of an old master key stay valid while it is in the key ring. `list` identifies the list; it must be
 * the same for both functions.
 */
export function createPageTokens(keys: readonly MasterKey[]) {
  const sealer = createSealer(keys.map(deriveKey));
  return {
    // The first byte of a sealed value is 1, so a token begins with "A" and never with a dash.
    seal: (position: string, list: string): string =>
      sealer.seal(Buffer.from(position), list).toString('base64url'),
    /** @throws HubError `page_token_invalid` */
    open(token: string, list: string): string {
      const sealed = Buffer.from(token.slice(0, LONGEST), 'base64url');
      // The decoder skips characters that are not base64url; a token has exactly one spelling.
      if (sealed.toString('base64url') !== token) throw pageTokenInvalid();
      try {
        return sealer.open(sealed, list).toString();
      } catch {
        throw pageTokenInvalid(); // of another list, hub or master key, or changed
      }
    },
  };
}

/**
 * HKDF (RFC 5869). A key of their own, because many page tokens would use up the nonces of the sealing key.
 */
function deriveKey({ secret }: MasterKey): MasterKey {
  const bytes = Buffer.from(hkdfSync('sha256', secret, '', LABEL, ID_BYTES + KEY_BYTES));
  const key = createSecretKey(bytes.subarray(ID_BYTES));
  return { id: bytes.subarray(0, ID_BYTES).toString('hex'), secret: key };
}

/**
 * Opens the page token of a request and seals the position in the response, for every RPC with a `page_token`
 * and a `next_page_token`.
 */
export function createPageTokenInterceptor({ seal, open }: PageTokens): Interceptor {
  return (next) => async (request) => {
    if (request.stream || !isPaged(request.method)) return next(request);
    const { method, contextValues } = request;
    const pageRequest = request.message as PagedRequest; // by `isPaged`
    const list = nameList(method, pageRequest, contextValues.get(callerKey)?.scope);
    if (pageRequest.pageToken !== '') pageRequest.pageToken = open(pageRequest.pageToken, list);
    const response = await next(request);
    if (response.stream) return response;
    const page = response.message as PagedResponse; // by `isPaged`
    if (page.nextPageToken !== '') page.nextPageToken = seal(page.nextPageToken, list);
    return response;
  };
}

type PagedRequest = Message & { pageSize?: number; pageToken: string };
type PagedResponse = Message & { nextPageToken: string };

export function isPaged({ input, output }: DescMethod): boolean {
  return input.field['pageToken'] !== undefined && output.field['nextPageToken'] !== undefined;
}

/** The RPC, its request without the page, and the scope of the caller. */
function nameList(method: DescMethod, pageRequest: PagedRequest, scope: Scope | undefined): string {
  const filters = clone(method.input, pageRequest) as PagedRequest; // of the same type
  filters.pageToken = '';
  if (filters.pageSize !== undefined) filters.pageSize = 0;
  const bytes = toBinary(method.input, filters, { writeUnknownFields: false });
  const limits = scope && [[...scope.apps].sort(), [...scope.slots].sort()];
  const about = [method.parent.typeName, method.name, Buffer.from(bytes).toString('base64'), limits ?? null];
  return JSON.stringify(about);
}
