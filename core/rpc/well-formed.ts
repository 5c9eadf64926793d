// Refuses HTTP/1 requests that a proxy in front could read differently.
import { ambiguityOf } from '../../ports/ambiguity.ts';
import type { Handler } from './listener.ts';

/** Answers 400 to them and ends the connection; passes everything else on. */
export function wellFormedOnly(handler: Handler): Handler {
  return (request, response) => {
    // HTTP/2 leaves nothing in doubt.
    if ('authority' in request || ambiguityOf(request) === undefined) return handler(request, response);
    response.setHeader('connection', 'close');
    response.statusCode = 400;
    response.end();
  };
}
