// The console's files on the RPC port: how they are served, and that nothing else is.
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { expect } from 'chai';
import { type ReadConsoleFile, serveConsole } from '../../../../core/rpc/endpoints/console.ts';
import { createListener, listen, urlOf } from '../../../../core/rpc/server/listener.ts';
import { openRaw, sendRaw } from '../../../gateway/server/raw-socket.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { until } from '../../../support/until.ts';

describe('the console on the RPC port', () => {
  let hub: TestHub;
  let port: number;
  let log = '';
  before(async () => {
    hub = await startHub({
      log: {
        write(line: string) {
          log += line;
        },
      },
    });
    port = Number(new URL(hub.rpcUrl).port);
  });
  after(() => hub.stop());

  const get = (path: string, init: RequestInit = {}) =>
    fetch(`${hub.rpcUrl}${path}`, { redirect: 'manual', ...init });
  const raw = async (method: string, path: string) => {
    const text = `${method} ${path} HTTP/1.1\r\nHost: hub\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
    const [answer] = await sendRaw(port, text);
    return answer;
  };
  /** The files that the page names. */
  const parts = async (): Promise<string[]> => {
    const page = await (await get('/console/')).text();
    return [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name = '']) => name);
  };

  it('is the target of / and /console', async () => {
    for (const path of ['/', '/console', '/?x', '/console?x']) {
      const { status, headers } = await get(path);
      expect([status, headers.get('location')], path).to.deep.equal([302, 'console/']);
    }
  });

  it('is a page that names only its own immutable files', async () => {
    const page = await get('/console/');
    expect(page.status).to.equal(200);
    expect(page.headers.get('content-type')).to.equal('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).to.equal('no-cache');
    const names = await parts();
    expect(names).to.have.length(3);
    for (const name of names) {
      expect(name).to.match(/^(main|style|icon)-[A-Z0-9]{8}\.(js|css|svg)$/);
      const part = await get(`/console/${name}`);
      expect(part.status, name).to.equal(200);
      expect(part.headers.get('cache-control'), name).to.equal('public, max-age=31536000, immutable');
      expect(Number(part.headers.get('content-length')), name).to.equal((await part.bytes()).length);
    }
    expect(await (await get('/console/LICENSES.txt')).text())
      .to.contain('preact')
      .and.to.contain('uplot');
  });

  it('may run only its own files, and cannot be framed', async () => {
    for (const path of ['/console/', `/console/${(await parts())[0]}`, '/console/none.js', '/console']) {
      const { headers } = await get(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy.split('; '), path).to.include.members([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "form-action 'none'",
        "base-uri 'none'",
      ]);
      expect(policy, path).not.to.contain('unsafe');
      expect(headers.get('x-frame-options'), path).to.equal('DENY');
      expect(headers.get('referrer-policy'), path).to.equal('no-referrer');
      expect(headers.get('x-content-type-options'), path).to.equal('nosniff');
      expect(headers.get('access-control-allow-origin'), path).to.equal(null);
    }
    expect(await (await get('/console/')).text()).not.to.match(/<script(?![^>]* src=)|<style|style=|onload/);
  });

  it('returns 304 for a matching entity tag, and a HEAD without a body', async () => {
    const etag = (await get('/console/')).headers.get('etag') ?? '';
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      expect((await get('/console/', { headers: { 'if-none-match': known } })).status, known).to.equal(304);
    }
    expect((await get('/console/', { headers: { 'if-none-match': '"other"' } })).status).to.equal(200);
    const head = await get('/console/', { method: 'HEAD' });
    expect([head.status, await head.text()]).to.deep.equal([200, '']);
    expect(Number(head.headers.get('content-length'))).to.be.above(100);
  });

  it('is served over HTTP/2 too', async () => {
    const session = connectHttp2(hub.rpcUrl);
    try {
      const stream = session.request({ ':path': '/console/' });
      const [headers] = await once(stream, 'response');
      expect(headers[':status']).to.equal(200);
      expect(headers['content-security-policy']).to.contain("default-src 'none'");
      stream.resume();
      await once(stream, 'end');
    } finally {
      session.destroy();
    }
  });

  it('serves nothing outside of its folder, however it is requested', async () => {
    for (const path of [
      '/console/../package.json',
      '/console/../../etc/passwd',
      '/console/%2e%2e/package.json',
      '/console/..%2fpackage.json',
      '/console/%2fetc%2fpasswd',
      '/console//etc/passwd',
      '/console/./index.html',
      '/console/..\\package.json',
      '/console/index.html%00.js',
      '/console/.env',
      '/console/.js',
      '/console/build.ts',
      '/console/app/main.tsx',
      '/console/__proto__.js',
      '/console/constructor.js',
      `/console/${'a'.repeat(200)}.js`,
      '/console/index.html/',
      '/consoles',
      '//console/',
      '/Console/',
    ]) {
      const answer = await raw('GET', path);
      expect(answer?.status, path).to.be.oneOf([400, 404]);
      expect(answer?.body ?? '', path).not.to.match(/[{}<>]|root:/);
    }
  });

  it('is read-only', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const answer = await raw(method, '/console/');
      expect([answer?.status, answer?.headers['allow']], method).to.deep.equal([405, 'GET, HEAD']);
      expect((await raw(method, '/'))?.status, `${method} /`).to.equal(404);
    }
  });

  it('closes the connection if a request has an unwanted body', async () => {
    const { socket, received } = await openRaw(port);
    socket.write('POST /console/ HTTP/1.1\r\nHost: hub\r\nContent-Length: 100000000\r\n\r\nabc');
    await until(() => received().startsWith('HTTP/1.1 405'), 'it is refused');
    socket.destroy();
    await hub.admin.listApps({});
  });

  it('does not change RPCs: each needs a token, and foreign pages may call none', async () => {
    const method = `${hub.rpcUrl}/hub.license.v1.LicenseAdminService/ListApps`;
    const headers = { 'content-type': 'application/json', origin: 'https://elsewhere.example' };
    const anonymous = await fetch(method, { method: 'POST', headers, body: '{}' });
    expect(anonymous.status).to.equal(401);
    expect(anonymous.headers.get('access-control-allow-origin')).to.equal(null);
    const preflight = await fetch(method, {
      method: 'OPTIONS',
      headers: { ...headers, 'access-control-request-method': 'POST' },
    });
    expect(preflight.ok).to.equal(false);
    expect(preflight.headers.get('access-control-allow-origin')).to.equal(null);
  });

  it('is logged like every request', async () => {
    const response = await get('/console/?token=never-logged', { headers: { 'x-request-id': 'console-42' } });
    expect(response.headers.get('x-request-id')).to.equal('console-42');
    await until(() => log.includes('console-42'), 'it is logged');
    const line = log.split('\n').find((each) => each.includes('console-42')) ?? '';
    expect(JSON.parse(line)).to.include({ msg: 'request', path: '/console/', status: 200 });
    expect(log).not.to.contain('never-logged');
  });
});

describe('the files of the console', () => {
  const serving = async (read: ReadConsoleFile, use: (url: string) => Promise<void>): Promise<unknown[]> => {
    const failures: unknown[] = [];
    const listener = createListener(
      serveConsole({ read, onFailure: (error) => failures.push(error) }, (_, response) =>
        response.end('rpc'),
      ),
    );
    await listen(listener.server, 0, '127.0.0.1', 'a port');
    try {
      await use(urlOf(listener.server));
    } finally {
      await listener.close(0);
    }
    return failures;
  };

  it('are read on first request and cached; unknown names are not looked up', async () => {
    const asked: string[] = [];
    const read: ReadConsoleFile = async (name) => {
      asked.push(name);
      return name === 'index.html' ? new TextEncoder().encode('<p>') : undefined;
    };
    const failures = await serving(read, async (url) => {
      for (const path of ['', '', 'index.html', 'a.js', 'a.js', 'a.ts', 'a/b.js', '..js']) {
        await fetch(`${url}/console/${path}`);
      }
      expect(await (await fetch(`${url}/consoles`)).text()).to.equal('rpc');
    });
    expect(asked).to.deep.equal(['index.html', 'a.js', 'a.js']);
    expect(failures).to.deep.equal([]);
  });

  it('that cannot be read return 503, with the reason only in the log', async () => {
    const read = () => Promise.reject(new Error('EACCES: /secret/path'));
    const failures = await serving(read, async (url) => {
      const response = await fetch(`${url}/console/`);
      expect(response.status).to.equal(503);
      expect(await response.text()).not.to.contain('secret');
    });
    expect(failures).to.have.length(1);
  });
});
