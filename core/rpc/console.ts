// The console's files on the RPC port. They are code and style and need no token; what the console shows is asked for by RPC.
import { hash } from 'node:crypto';
import type { Handler } from './listener.ts';

/** A file of the console by its name, which has no folders; undefined if there is none of that name. */
export type ReadConsoleFile = (name: string) => Promise<Uint8Array | undefined>;

export type ConsoleOptions = {
  readonly read: ReadConsoleFile;
  /** Told why a file that should be there cannot be read. */
  readonly onFailure: (error: unknown) => void;
};

/** Answers `/console/`, and sends browsers there from `/`; passes everything else on. Holds only files that were asked for. */
export function serveConsole({ read, onFailure }: ConsoleOptions, next: Handler): Handler {
  const files = new Map<string, File>();
  const find = async (name: string): Promise<File | undefined> => {
    const held = files.get(name);
    if (held !== undefined) return held;
    const bytes = await read(name);
    if (bytes === undefined) return undefined;
    const file = { bytes, tag: `"${hash('sha256', bytes, 'base64url')}"` };
    files.set(name, file);
    return file;
  };

  return (request, response) => {
    const path = request.url?.split('?', 1)[0] ?? '';
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const isConsole = path === '/console' || path.startsWith('/console/');
    if (!isConsole && !(path === '/' && isRead)) return next(request, response);
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const answer = (status: number, text: string): void => {
      response.statusCode = status;
      response.setHeader('content-type', 'text/plain; charset=utf-8');
      response.end(text);
    };
    if (!isRead) {
      response.setHeader('allow', 'GET, HEAD');
      return answer(405, 'The console is read by GET and HEAD.\n');
    }
    if (!path.startsWith('/console/')) {
      // Relative, for a proxy that serves this port under a path of its own.
      response.setHeader('location', 'console/');
      return answer(302, '');
    }
    const name = path.slice('/console/'.length) || 'index.html';
    const [, type = ''] = FILE.exec(name) ?? [];
    const contentType = CONTENT_TYPES[type];
    if (contentType === undefined) return answer(404, NOT_FOUND);
    find(name)
      .then((file) => {
        if (file === undefined) return answer(404, NOT_FOUND);
        response.setHeader('content-type', contentType);
        response.setHeader('cache-control', HASHED.test(name) ? FOR_GOOD : 'no-cache');
        response.setHeader('etag', file.tag);
        if (knows(request.headers['if-none-match'], file.tag)) {
          response.statusCode = 304;
          return response.end();
        }
        response.setHeader('content-length', file.bytes.length);
        response.end(request.method === 'HEAD' ? '' : file.bytes);
      })
      .catch((error: unknown) => {
        onFailure(error);
        answer(503, 'The console cannot be served now; the log of the hub says why.\n');
      });
  };
}

type File = { readonly bytes: Uint8Array; readonly tag: string };

/** No folders, no dots but the last: a name cannot lead anywhere else. */
const FILE = /^[\w-]{1,80}\.(html|js|css|svg|txt)$/;
/** A name that changes with what is in it. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/;
const FOR_GOOD = 'public, max-age=31536000, immutable';
const NOT_FOUND = 'There is no such file of the console. It begins at /console/.\n';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

/** Nothing but the hub's own files, nothing inline, and no other page around it. */
const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/** Whether the caller has it already (RFC 9110, section 13.1.2). */
function knows(known: string | undefined, tag: string): boolean {
  return known?.split(',').some((each) => [tag, '*'].includes(each.trim().replace(/^W\//, ''))) ?? false;
}
