// The type of the handlers of the RPC port, for HTTP/1.1 and HTTP/2.
import type * as http from 'node:http';
import type * as http2 from 'node:http2';

export type Handler = (
  request: http.IncomingMessage | http2.Http2ServerRequest,
  response: http.ServerResponse | http2.Http2ServerResponse,
) => void;
