// docs/client.md and client/README.md: their tables are complete, and their applications work.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createLicenseClient, type LicenseClientOptions } from '../../client/client.ts';
import { PERMANENT_CODES, RETRYABLE_CODES } from '../../client/errors.ts';
import { createMemoryStore } from '../../client/state/store.ts';
import { END_CODES, UNUSABLE_REASONS } from '../../client/verdict/reasons.ts';
import { PROBLEMS } from '../../gateway/problem.ts';
import { publicKeyOf } from '../client/machine.ts';
import { createVendorProject, type VendorProject } from '../client/vendor-project.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { issueLicense } from '../support/hub/license.ts';
import { until } from '../support/until.ts';
import { codeRows, fencedBlocks, readPage } from './markdown.ts';
import { steps } from './run-doc-commands.ts';

const PAGE = readPage('docs/client.md');
const README = readPage('client/README.md');
const section = (title: string, page = PAGE): string =>
  page.split(`## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

describe('docs/client.md and client/README.md', () => {
  it('gives advice for every reason', () => {
    const rows = codeRows(section('Verdicts'));
    const reasons = ['no_license', ...END_CODES, 'lease_over', 'clock_set_back', ...UNUSABLE_REASONS];
    expect(rows.map(([reason]) => reason)).to.deep.equal(reasons);
  });

  it('lists every error code, and whether it may be temporary', () => {
    const rows = codeRows(section('Errors'));
    const [retryable, permanent] = [true, false].map((isRetryable) =>
      rows.filter(([, later]) => (later === 'yes') === isRetryable).map(([code]) => code),
    );
    expect(retryable).to.have.members([...RETRYABLE_CODES]);
    expect(permanent).to.have.members([...PERMANENT_CODES]);
    expect(rows.map(([code]) => code)).to.include.members(Object.keys(PROBLEMS));
  });

  it('lists every option and every method', async () => {
    const options: Record<keyof LicenseClientOptions, true> = {
      hubUrl: true,
      app: true,
      trust: true,
      machineFingerprint: true,
      store: true,
      freeLimits: true,
      machineLabel: true,
      appVersion: true,
      keepLicenseKey: true,
      softCheckIntervalMs: true,
      clockToleranceMs: true,
      timeoutMs: true,
      allowHttp: true,
      onError: true,
      fetch: true,
      clock: true,
      random: true,
    };
    const table = codeRows(section('Options', README));
    expect(table.map(([name]) => name)).to.deep.equal(Object.keys(options));
    const durations = table.filter(([name]) => name?.endsWith('Ms') || name === 'clock');
    for (const [name, , text] of durations) expect(text, name).to.include('milliseconds');
    const client = await createLicenseClient({
      hubUrl: 'https://licenses.example.com',
      app: 'app',
      trust: { thumbprints: ['A'.repeat(43)] },
      machineFingerprint: 'machine-1',
      store: createMemoryStore(),
      freeLimits: {},
    });
    const methods = codeRows(section('Methods')).map(([call = '']) => call.replace(/\(.*/, ''));
    expect(methods).to.have.members(Object.keys(client));
  });

  describe('has an application', () => {
    let hub: TestHub;
    let project: VendorProject;
    before(async function () {
      // The application depends on its fingerprint, which is for systems with an id.
      if (process.platform === 'linux' && !existsSync('/etc/machine-id')) return this.skip();
      [hub, project] = await Promise.all([startHub(), createVendorProject()]);
    });
    after(() => Promise.all([hub?.stop(), project?.[Symbol.asyncDispose]()]));

    it('of twenty lines for a start', async () => {
      const { licenseKey, app } = await issueLicense(hub.admin, { limits: { projects: 10n } });
      const [program = ''] = fencedBlocks(README, 'js');
      const shown = fencedBlocks(README, 'console').flatMap(steps);
      await project.write('demo.pem', await publicKeyOf(hub.gatewayUrl, app));
      const ours = program
        .replace('http://127.0.0.1:5099', hub.gatewayUrl)
        .replace(`app: 'demo'`, `app: '${app}'`);
      await project.write('licensed.mjs', ours);
      expect(shown).to.have.length(3);
      for (const { command, output } of shown) {
        const [, ...args] = command.replace('KEY', licenseKey).split(' ');
        const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: project.path });
        expect(stdout, command).to.equal(output);
      }
    });

    it('of about forty lines that works as described', async () => {
      const { licenseId, licenseKey, app } = await issueLicense(hub.admin, {
        customer: 'Ada Lovelace',
        limits: { projects: 10n },
      });
      const [application = '', machine = ''] = fencedBlocks(PAGE, 'js');
      expect(application.trim().split('\n').length).to.be.at.most(60);
      const key = await publicKeyOf(hub.gatewayUrl, app);
      await project.write('machine.mjs', machine);
      await project.write(
        'app.mjs',
        application
          .replaceAll('http://127.0.0.1:5099', hub.gatewayUrl)
          .replace(/-----BEGIN.*KEY-----(?=`;)/s, key.trim())
          .replace(`app: 'demo'`, `app: '${app}'`),
      );

      const first = startApplication(project.path);
      await first.says('Free, because of no_license');
      await first.type('activate 00000-00000', 'activate failed: license_key_unknown');
      for (const project of [1, 2, 3]) await first.type('new', `project ${project}`);
      await first.type('new', 'no more projects');
      await first.type(`activate ${licenseKey}`, 'licensed to Ada Lovelace');
      await first.type('new', 'project 4');
      await first.type('release', 'Free, because of no_license');
      await first.type('new', 'no more projects');
      await first.type(`activate ${licenseKey}`, 'licensed to Ada Lovelace');
      expect(await first.end()).to.equal(0);

      const second = startApplication(project.path);
      await second.says('licensed to Ada Lovelace');
      const { seats } = await hub.admin.listSeats({ licenseId });
      expect(seats).to.have.length(1);
      expect(seats[0]?.machineFingerprint).to.match(/^[0-9a-f]{64}$/);
      await hub.admin.revokeLicense({ licenseId, reason: 'refund' });
      await second.type('check', 'Free, because of license_revoked');
      expect(await second.end()).to.equal(0);

      const third = startApplication(project.path);
      await third.says('Free, because of license_revoked');
      expect(await third.end()).to.equal(0);
    });
  });
});

/** The application, with a user who types into it and reads line by line. */
function startApplication(cwd: string) {
  const child = spawn(process.execPath, ['app.mjs'], { cwd, stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  let output = '';
  let read = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const says = async (line: string): Promise<void> => {
    await until(() => output.indexOf('\n', read) !== -1 || child.exitCode !== null, `it says: ${line}`);
    const end = output.indexOf('\n', read);
    expect(output.slice(read, end)).to.equal(line);
    read = end + 1;
  };
  return {
    says,
    async type(line: string, answer: string): Promise<void> {
      child.stdin.write(`${line}\n`);
      await says(answer);
    },
    /** Closes its input, and returns its exit code: nothing else keeps it alive. */
    async end(): Promise<number> {
      child.stdin.end();
      const [code] = await exited;
      return code;
    },
  };
}
