// docs/how-to/behind-a-proxy.md: its configuration of nginx, in a real nginx in front of a real hub.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { freePort } from '../../core/storage/embedded-postgres/free-port.ts';
import { startHub } from '../support/hub/hub.ts';
import { makeCertificates } from '../support/network/certificates.ts';
import { until } from '../support/until.ts';
import { fencedBlocks, readPage } from './markdown.ts';

const [CONFIGURATION = ''] = fencedBlocks(readPage('docs/how-to/behind-a-proxy.md'), 'nginx');
const isInstalled = spawnSync('nginx', ['-v']).error === undefined;

(isInstalled ? describe : describe.skip)('nginx, configured as docs/how-to/behind-a-proxy.md says', () => {
  const undo = new AsyncDisposableStack();
  let address: string;

  before(async () => {
    const hub = await startHub({ settings: { trustedProxies: ['127.0.0.1'], licenseRatePerMinute: 2 } });
    undo.defer(() => hub.stop());
    const certificates = await makeCertificates();
    undo.defer(() => certificates.remove());
    const { cert, key } = await (await certificates.createIssuer('proxy')).issue('/CN=hub.example.com');
    const port = await freePort();
    address = `https://127.0.0.1:${port}`;
    const server = CONFIGURATION.replace('127.0.0.1:5099', new URL(hub.gatewayUrl).host)
      .replace('listen 443', `listen ${port}`)
      .replace('/etc/hub/tls.crt', cert)
      .replace('/etc/hub/tls.key', key);
    undo.defer(await startNginx(server));
    await until(async () => (await ask('/readyz')).status === 200, 'nginx serves');
  });
  after(() => undo.disposeAsync());

  it("passes the client's address to the hub, whatever headers the client sends", async () => {
    const askFrom = async (client: string, lie: string) =>
      (await ask('/v1/apps/none/jwks.json', '--interface', client, '--header', `X-Forwarded-For: ${lie}`))
        .status;
    expect(await askFrom('127.0.0.2', '203.0.113.1')).to.equal(404);
    expect(await askFrom('127.0.0.2', '203.0.113.2')).to.equal(404);
    expect(await askFrom('127.0.0.2', '203.0.113.3')).to.equal(429);
    expect(await askFrom('127.0.0.3', '203.0.113.3')).to.equal(404);
  });

  it('sets Strict-Transport-Security, and refuses large bodies itself', async () => {
    expect((await ask('/healthz')).head).to.match(/^strict-transport-security: max-age=31536000/im);
    const body = 'x'.repeat(65 * 1024);
    expect((await ask('/v1/activate', '--data', body)).status).to.equal(413);
  });

  async function ask(path: string, ...options: string[]): Promise<{ status: number; head: string }> {
    const always = ['--silent', '--insecure', '--dump-header', '-', '--output', '/dev/null'];
    const { stdout: head } = await promisify(execFile)('curl', [
      ...always,
      ...options,
      `${address}${path}`,
    ]).catch(
      () => ({ stdout: '' }), // nobody listens yet
    );
    return { status: Number(/^HTTP\/\S+ (\d+)/m.exec(head)?.[1]), head };
  }
});

/** Resolves with how to stop it. */
async function startNginx(server: string): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'hub-nginx-'));
  const own = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const file = join(folder, 'nginx.conf');
  await writeFile(
    file,
    `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
     events {} http { access_log off; ${own.join(' ')} ${server} }`,
  );
  const nginx = spawn('nginx', ['-p', folder, '-c', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  return async () => {
    nginx.kill('SIGTERM');
    if (nginx.exitCode === null) await once(nginx, 'exit');
    await rm(folder, { recursive: true, force: true });
  };
}
