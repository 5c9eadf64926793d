// The reference of the hub: the OpenAPI document, and the files of its page.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { expect } from 'chai';
import { pageOf, viewerTexts } from '../../../gateway/openapi/pack-viewer.ts';
import { VIEWER } from '../../../gateway/openapi/reference/viewer.ts';
import { takesGzip } from '../../../gateway/server/conditional-response.ts';
import { startGateway, type TestGateway } from '../fake-core.ts';

const FOLDER = new URL('../../../gateway/openapi/reference/', import.meta.url);
const APP = 'https://app.example.com';

describe('the reference of a hub', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ corsOrigins: [APP], ratePerMinute: 1_000 });
  });
  after(() => gateway.close(0));

  /** As it is sent: fetch would unpack it. */
  const raw = (path: string, headers: Record<string, string>) =>
    new Promise<{ headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
      request(`${gateway.url}${path}`, { headers }, async (res) => {
        const chunks = await res.toArray();
        resolve({ headers: res.headers, body: Buffer.concat(chunks) });
      })
        .on('error', reject)
        .end();
    });

  it('serves the document, which pages of listed origins may read', async () => {
    const response = await gateway.get('/openapi.json', { headers: { origin: APP } });
    expect(await response.text()).to.equal(readFileSync(new URL('openapi.json', FOLDER), 'utf8'));
    expect(Object.fromEntries(response.headers)).to.include({
      'content-type': 'application/json',
      'cache-control': 'public, max-age=300',
      'access-control-allow-origin': APP,
    });
    const elsewhere = await gateway.get('/openapi.json', {
      headers: { origin: 'https://elsewhere.example' },
    });
    expect(elsewhere.headers.get('access-control-allow-origin')).to.equal(null);
  });

  it('answers HEAD, and If-None-Match', async () => {
    for (const path of ['/openapi.json', '/docs']) {
      const whole = await gateway.get(path);
      const head = await gateway.get(path, { method: 'HEAD' });
      expect([head.status, await head.text()]).to.deep.equal([200, '']);
      const length = String(Buffer.byteLength(await whole.text()));
      expect(head.headers.get('content-length'), path).to.equal(length);
      const etag = head.headers.get('etag') ?? '';
      expect((await gateway.get(path, { headers: { 'if-none-match': etag } })).status, path).to.equal(304);
      expect((await gateway.get(path, { headers: { 'if-none-match': '"x"' } })).status, path).to.equal(200);
    }
  });

  it('serves a page that loads only its own files, runs no other script, and cannot be framed', async () => {
    const page = await gateway.get('/docs');
    expect(Object.fromEntries(page.headers)).to.include({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    });
    const named = [...(await page.text()).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name);
    expect(named).to.have.members([
      'data:,',
      `docs/${VIEWER.style}`,
      'openapi.json',
      `docs/${VIEWER.script}`,
    ]);
  });

  it('serves script and style as immutable, compressed if the client accepts it', async () => {
    const texts = viewerTexts();
    for (const [part, type] of [
      ['script', 'text/javascript'],
      ['style', 'text/css'],
    ] as const) {
      const path = `/docs/${VIEWER[part]}`;
      const packed = await raw(path, { 'accept-encoding': 'br, gzip' });
      const plain = await raw(path, { 'accept-encoding': 'identity' });
      for (const { headers } of [packed, plain]) {
        expect(headers).to.include({
          'content-type': `${type}; charset=utf-8`,
          'cache-control': 'public, max-age=31536000, immutable',
          vary: 'Accept-Encoding',
        });
      }
      expect(packed.headers['content-encoding']).to.equal('gzip');
      expect(plain.headers['content-encoding']).to.equal(undefined);
      expect(`${gunzipSync(packed.body)}`).to.equal(texts[part]);
      expect(`${plain.body}`).to.equal(texts[part]);
    }
    expect((await gateway.get('/docs/viewer-0000000000000000.js')).status).to.equal(404);
  });

  it('is built from the installed packages, in files named by their contents', () => {
    const { script, style } = viewerTexts();
    const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
    expect(VIEWER).to.deep.equal({
      script: `viewer-${digest(script)}.js`,
      style: `viewer-${digest(style)}.css`,
    });
    expect(readFileSync(new URL('index.html', FOLDER), 'utf8')).to.equal(pageOf(VIEWER));
    expect(readdirSync(FOLDER)).to.have.members([
      'LICENSES.txt',
      'index.html',
      'openapi.json',
      'viewer.ts',
      `${VIEWER.script}.gz`,
      `${VIEWER.style}.gz`,
    ]);
  });

  it('can be disabled', async () => {
    const silent = await startGateway({ docs: false });
    for (const path of ['/openapi.json', '/docs', `/docs/${VIEWER.script}`, `/docs/${VIEWER.style}`]) {
      expect((await silent.get(path)).status, path).to.equal(404);
    }
    await silent.close(0);
  });
});

describe('a client takes gzip', () => {
  const cases: [accepted: string | undefined, takes: boolean][] = [
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['br, GZIP;q=0.5', true],
    ['*', true],
    ['*;q=0.1, br', true],
    ['identity', false],
    ['gzip;q=0', false],
    ['gzip; q=0, *', false],
    ['gzip;q=none', false],
  ];
  for (const [accepted, takes] of cases) {
    it(`${takes ? 'for' : 'but not for'} Accept-Encoding ${accepted === undefined ? 'missing' : `"${accepted}"`}`, () => {
      expect(takesGzip(accepted)).to.equal(takes);
    });
  }
});
