// SIGHUP of a hub with certificates, which never ends it: neither while it starts nor while it stops.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { discard, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
import { type Certificates, makeCertificates, type Pair } from '../../support/network/certificates.ts';
import { beginRequest } from '../../support/network/slow-request.ts';
import { until } from '../../support/until.ts';
import { startPrinting } from '../spawn-hubctl.ts';

describe('SIGHUP of a hub with certificates', () => {
  let certificates: Certificates;
  let pair: Pair;
  const dataDirs: string[] = [];
  before(async () => {
    certificates = await makeCertificates();
    pair = await (await certificates.createIssuer('issuer')).issue('/CN=hub');
  });
  after(async () => {
    await Promise.all(dataDirs.map(discard));
    await certificates.remove();
  });

  for (const workers of ['1', '2']) {
    it(`does not end it while it starts or stops, with HUB_WORKERS=${workers}`, async () => {
      const dataDir = await makeDataDir();
      dataDirs.push(dataDir);
      const { child, printed, end } = startPrinting(['serve', '--port', '0', '--rpc-port', '0'], {
        HUB_DATA_DIR: dataDir,
        HUB_WORKERS: workers,
        HUB_RPC_TLS_CERT: pair.cert,
        HUB_RPC_TLS_KEY: pair.key,
      });
      /** The entry of the log with this message; undefined until there is one. */
      const logged = (message: string): { gateway?: string } | undefined => {
        const line = printed.stdout.split('\n').find((each) => each.includes(`"msg":"${message}`));
        return line === undefined ? undefined : JSON.parse(line);
      };
      const untilLogged = (message: string) =>
        until(
          () => {
            const { exitCode, signalCode } = child;
            expect({ exitCode, signalCode }, printed.stderr).to.deep.equal({
              exitCode: null,
              signalCode: null,
            });
            return logged(message) !== undefined;
          },
          `the log has "${message}"`,
          60_000,
        );
      try {
        await untilLogged('creating a PostgreSQL cluster');
        child.kill('SIGHUP');
        await untilLogged('hub is ready');
        const slow = await beginRequest(logged('hub is ready')?.gateway ?? '');
        child.kill('SIGTERM');
        await untilLogged('hub is stopping');
        child.kill('SIGHUP');
        expect(await slow.finish()).to.contain('license_key_unknown');
        const { code, signal } = await end;
        expect({ code, signal }).to.deep.equal({ code: 0, signal: null });
        expect(await postgresRuns(dataDir)).to.equal(false);
        expect(existsSync(join(dataDir, 'hub.json'))).to.equal(false);
      } finally {
        child.kill('SIGKILL');
      }
    });
  }
});
