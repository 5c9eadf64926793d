// Requests that two servers in a chain could parse differently, or that no client sends, for any HTTP/1.1
// port.

export type HostileRequest = { readonly about: string; readonly text: string };

/** The request that runs if a server parses the rest of another request as the next one. */
export const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: hub\r\n\r\n';

/**
 * Each must be refused with 400 or by closing the connection, and the request inside must never be answered.
 */
export function smugglingRequests(path: string): HostileRequest[] {
  const head = `POST ${path} HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\n`;
  const chunked = 'Transfer-Encoding: chunked\r\n';
  const framed = (about: string, framing: string, body: string): HostileRequest => ({
    about,
    text: `${head}${framing}\r\n${body}`,
  });
  return [
    framed('CL and TE', `Content-Length: 5\r\n${chunked}`, `0\r\n\r\n${SMUGGLED}`),
    framed('TE and CL', `${chunked}Content-Length: 5\r\n`, `0\r\n\r\n${SMUGGLED}`),
    framed('two CL that differ', 'Content-Length: 2\r\nContent-Length: 40\r\n', `{}${SMUGGLED}`),
    framed('two CL that agree', 'Content-Length: 2\r\nContent-Length: 2\r\n', `{}${SMUGGLED}`),
    framed('a list of CL', 'Content-Length: 2, 2\r\n', `{}${SMUGGLED}`),
    framed('CL with a sign', 'Content-Length: +2\r\n', `{}${SMUGGLED}`),
    framed('CL in hex', 'Content-Length: 0x2\r\n', `{}${SMUGGLED}`),
    framed('CL that overflows', 'Content-Length: 18446744073709551618\r\n', `{}${SMUGGLED}`),
    framed('empty CL', 'Content-Length: \r\n', SMUGGLED),
    framed('TE identity', 'Transfer-Encoding: identity\r\nContent-Length: 2\r\n', `{}${SMUGGLED}`),
    framed('TE of two codings', 'Transfer-Encoding: gzip, chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
    framed('TE twice', `${chunked}Transfer-Encoding: identity\r\n`, `0\r\n\r\n${SMUGGLED}`),
    framed('TE misspelled', 'Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${SMUGGLED}`),
    framed('TE with a space before its colon', 'Transfer-Encoding : chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
    framed('TE on a folded line', 'Transfer-Encoding:\r\n chunked\r\n', `0\r\n\r\n${SMUGGLED}`),
    framed('TE behind a vertical tab', 'Transfer-Encoding:\x0bchunked\r\n', `0\r\n\r\n${SMUGGLED}`),
    framed('a chunk size with a sign', chunked, `+2\r\n{}\r\n0\r\n\r\n${SMUGGLED}`),
    framed('a chunk size that overflows', chunked, `10000000000000002\r\n{}\r\n0\r\n\r\n${SMUGGLED}`),
    framed('a chunk without its line end', chunked, `2\r\n{}0\r\n\r\n${SMUGGLED}`),
    framed('a chunk size that ends in a bare LF', chunked, `2\n{}\r\n0\r\n\r\n${SMUGGLED}`),
    framed('a chunk that ends in a bare LF', chunked, `2\r\n{}\n0\r\n\r\n${SMUGGLED}`),
    framed('a trailer that is a Content-Length', chunked, `0\r\nContent-Length: 50\n\r\n\r\n${SMUGGLED}`),
    { about: 'a request line that ends in a bare LF', text: `POST ${path} HTTP/1.1\nHost: hub\r\n\r\n` },
    { about: 'a header that ends in a bare LF', text: `POST ${path} HTTP/1.1\r\nHost: hub\nX: y\r\n\r\n` },
    {
      about: 'headers that end in a bare LF',
      text: `POST ${path} HTTP/1.1\r\nHost: hub\r\nX: y\n\n${SMUGGLED}`,
    },
    { about: 'a bare CR in a header', text: `POST ${path} HTTP/1.1\r\nHost: hub\r\nX: a\rY: b\r\n\r\n` },
    { about: 'a NUL in a header', text: `POST ${path} HTTP/1.1\r\nHost: hub\r\nX: a\0b\r\n\r\n` },
    { about: 'a space before the colon of a name', text: `POST ${path} HTTP/1.1\r\nHost : hub\r\n\r\n` },
    { about: 'a header without a name', text: `POST ${path} HTTP/1.1\r\nHost: hub\r\n: x\r\n\r\n` },
    { about: 'a first header that is folded', text: `POST ${path} HTTP/1.1\r\n Host: hub\r\n\r\n` },
    { about: 'a tab in the request line', text: `POST\t${path}\tHTTP/1.1\r\nHost: hub\r\n\r\n` },
    { about: 'a version of two digits', text: `POST ${path} HTTP/1.10\r\nHost: hub\r\n\r\n` },
    { about: 'HTTP/0.9', text: `GET ${path}\r\n\r\n` },
  ];
}
