// Serves the OpenAPI document and its page: files that `npm run gen` writes.
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { packageRoot } from '../../lib/package-root.ts';
import { VIEWER } from '../openapi/reference/viewer.ts';
import { tagged, takesGzip } from '../server/conditional-response.ts';
import { PAGE_SECURITY_HEADERS } from '../server/security-headers.ts';
import type { Operation } from './openapi-operation.ts';
import type { Call, Route, RouteResponse } from './route.ts';

/**
 * `/openapi.json`, `/docs`, and the script and style sheet of the page, whose names contain a hash of their
 * content.
 */
export function referenceRoutes(): Route[] {
  const document = lazily('openapi.json');
  const page = lazily('index.html');
  const get = { method: 'GET', limited: true } as const;
  return [
    {
      ...get,
      pattern: '/openapi.json',
      crossOrigin: true,
      about: ABOUT.document,
      handle: async (call) => {
        const { bytes, tag } = await document();
        return tagged(call, tag, 'application/json', bytes);
      },
    },
    {
      ...get,
      pattern: '/docs',
      about: ABOUT.page,
      handle: async (call) => {
        const { bytes, tag } = await page();
        const response = tagged(call, tag, HTML, bytes, 'no-cache');
        return { ...response, securityHeaders: PAGE_SECURITY_HEADERS };
      },
    },
    { ...get, ...partOfPage(VIEWER.script, 'text/javascript; charset=utf-8') },
    { ...get, ...partOfPage(VIEWER.style, 'text/css; charset=utf-8') },
  ];
}

const HTML = 'text/html; charset=utf-8';
const unzip = promisify(gunzip);

function partOfPage(
  name: string,
  contentType: string,
): Pick<Route, 'pattern' | 'countedAs' | 'about' | 'handle'> {
  const file = lazily(`${name}.gz`);
  return {
    pattern: `/docs/${name}`,
    countedAs: '/docs/viewer',
    about: { unlisted: 'a part of the page' },
    async handle({ headers }: Call): Promise<RouteResponse> {
      const { bytes } = await file();
      const zipped = takesGzip(headers['accept-encoding']);
      return {
        status: 200,
        contentType,
        body: zipped ? bytes : await unzip(bytes),
        headers: ['Vary', 'Accept-Encoding', ...(zipped ? ['Content-Encoding', 'gzip'] : [])],
        cacheControl: 'public, max-age=31536000, immutable',
      };
    },
  };
}

type File = { readonly bytes: Buffer; readonly tag: string };

/** Reads a file on first use: most hubs never serve it. */
function lazily(name: string): () => Promise<File> {
  let file: File | undefined;
  return async () => {
    if (file === undefined) {
      const bytes = await readFile(join(packageRoot(), 'gateway/openapi/reference', name));
      file = { bytes, tag: hash('sha256', bytes, 'base64url') };
    }
    return file;
  };
}

const ABOUT = {
  document: {
    id: 'getOpenApi',
    tag: 'Reference',
    summary: 'Get this document',
    response: {
      description: 'OpenAPI 3.1.',
      schema: {
        type: 'object',
        properties: {
          openapi: { type: 'string', pattern: '^3[.]1[.]' },
          info: { type: 'object' },
          paths: { type: 'object' },
        },
        required: ['openapi', 'info', 'paths'],
        additionalProperties: true,
      },
      tagged: true,
    },
    problems: [],
  },
  page: {
    id: 'getReference',
    tag: 'Reference',
    summary: 'Show this document as a page',
    response: {
      description: 'A page for browsers.',
      contentType: HTML,
      schema: { type: 'string' },
      tagged: true,
    },
    problems: [],
  },
} as const satisfies { [name: string]: Operation };
