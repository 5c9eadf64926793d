// Requests that may take longer to send than others, because their handler reads them while it works.
import * as http from 'node:http';
import type * as net from 'node:net';

/** Returns a check whether a request is for one of these paths. */
export function createIsUpload(paths: ReadonlySet<string> = new Set()) {
  return ({ url }: { url?: string | undefined }): boolean => paths.has(url?.split('?', 1)[0] ?? '');
}

/** Returns a function that exempts a request from `requestTimeout` until its response closes. */
export function keepRequestsOpen(server: http.Server) {
  const exempt = new WeakSet<net.Socket>();
  server.on('clientError', (error: NodeJS.ErrnoException, socket: net.Socket) => {
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && exempt.has(socket)) return; // Node reports it once
    refuseMalformed(error, socket);
  });
  return (socket: net.Socket, response: http.ServerResponse): void => {
    exempt.add(socket);
    response.once('close', () => exempt.delete(socket));
  };
}

const REFUSALS: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
};

/** What Node does without a listener. */
function refuseMalformed({ code = '' }: NodeJS.ErrnoException, socket: net.Socket): void {
  const current = '_httpMessage' in socket ? socket._httpMessage : undefined;
  const hasAnswer = current instanceof http.ServerResponse && current.headersSent;
  if (socket.writable && !hasAnswer) {
    socket.write(`HTTP/1.1 ${REFUSALS[code] ?? '400 Bad Request'}\r\nConnection: close\r\n\r\n`);
  }
  socket.destroy();
}
