// Rejects HTTP/1 requests that a proxy could interpret differently (request smuggling).
import { findSmugglingSign } from '../../../lib/net/proxies.ts';
import type { Handler } from './handler.ts';

/** Responds 400 to such a request and closes the connection. */
export function wellFormedOnly(handler: Handler): Handler {
  return (request, response) => {
    // HTTP/2 frames are unambiguous.
    if ('authority' in request || findSmugglingSign(request) === undefined) return handler(request, response);
    response.setHeader('connection', 'close');
    response.statusCode = 400;
    response.end();
  };
}
