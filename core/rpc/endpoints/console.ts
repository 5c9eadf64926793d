// Serves the files of the console on the RPC port. They need no token; the console gets its data by RPC.
import { hash } from 'node:crypto';
import type { Handler } from '../server/handler.ts';

/** Reads a file of the console by its name, without folders; undefined if it does not exist. */
export type ReadConsoleFile = (name: string) => Promise<Uint8Array | undefined>;

export type ConsoleOptions = {
  readonly read: ReadConsoleFile;
  /** Called with the error if a file cannot be read. */
  readonly onFailure: (error: unknown) => void;
};

/**
 * Serves `/console/`, redirects `/` there, and passes other requests on. Caches the files that were
 * requested.
 */
export function serveConsole({ read, onFailure }: ConsoleOptions, next: Handler): Handler {
  const files = new Map<string, File>();
  const find = async (name: string): Promise<File | undefined> => {
    const cached = files.get(name);
    if (cached !== undefined) return cached;
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
      return answer(405, 'The console accepts only GET and HEAD.\n');
    }
    if (!path.startsWith('/console/')) {
      // Relative, for a proxy that serves this port under another path.
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
        response.setHeader('cache-control', HASHED.test(name) ? IMMUTABLE : 'no-cache');
        response.setHeader('etag', file.tag);
        if (isCurrent(request.headers['if-none-match'], file.tag)) {
          response.statusCode = 304;
          return response.end();
        }
        response.setHeader('content-length', file.bytes.length);
        response.end(request.method === 'HEAD' ? '' : file.bytes);
      })
      .catch((error: unknown) => {
        onFailure(error);
        answer(503, 'The console is not available now. The log of the hub has the reason.\n');
      });
  };
}

type File = { readonly bytes: Uint8Array; readonly tag: string };

/** No folders, and no dots but the last, so that a name cannot leave the folder. */
const FILE = /^[\w-]{1,80}\.(html|js|css|svg|txt)$/;
/** A name with a hash of the content. */
const HASHED = /-[A-Z0-9]{8}\.\w+$/;
const IMMUTABLE = 'public, max-age=31536000, immutable';
const NOT_FOUND = 'The console has no such file. It starts at /console/.\n';

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

/** Only the hub's own files, nothing inline, no frames. */
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

/** Whether the browser has the current file (RFC 9110, section 13.1.2). */
function isCurrent(known: string | undefined, tag: string): boolean {
  return known?.split(',').some((each) => [tag, '*'].includes(each.trim().replace(/^W\//, ''))) ?? false;
}
