// The settings of a hub: where each is read from, what each refuses, and what they refuse together.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { CliError } from '../../cli/failure.ts';
import { readSettings, SETTINGS, type Settings } from '../../cli/settings.ts';
import { hubctl } from './spawn-hubctl.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

/** For each setting a value that is not its default as it is written and as it is read, and values it refuses. */
const SAMPLES: { [K in keyof Settings]: { written: string; read: Settings[K]; wrong: readonly string[] } } = {
  role: { written: 'core', read: 'core', wrong: ['worker', 'ALL'] },
  host: { written: '0.0.0.0', read: '0.0.0.0', wrong: [' '] },
  port: { written: '8080', read: 8080, wrong: ['65536', '-1', '80a', '1e3', '5.0', ' 80'] },
  rpcHost: { written: '::1', read: '::1', wrong: [' '] },
  rpcPort: { written: '8081', read: 8081, wrong: ['65536', 'rpc'] },
  publicUrl: {
    written: 'https://hub.example',
    read: 'https://hub.example',
    wrong: ['hub.example', 'ftp://hub'],
  },
  databaseUrl: {
    written: 'postgresql://db/hub',
    read: 'postgresql://db/hub',
    wrong: ['db/hub', 'mysql://db'],
  },
  databasePool: { written: '25', read: 25, wrong: ['1', '0', '1001', 'many'] },
  redisUrl: { written: 'rediss://cache', read: 'rediss://cache', wrong: ['cache:6379', 'http://cache'] },
  masterKey: { written: KEY, read: KEY, wrong: ['c2hvcnQ=', `${KEY}\n${KEY}`, '# only a comment'] },
  masterKeyFile: { written: '/etc/hub/keys', read: '/etc/hub/keys', wrong: [' '] },
  licenseRatePerMinute: { written: '0', read: 0, wrong: ['-1', '1000001', 'off'] },
  trustedProxies: {
    written: '10.0.0.0/8, fd00::1',
    read: ['10.0.0.0/8', 'fd00::1'],
    wrong: ['10.0.0.0/33', 'proxy.local'],
  },
  proxyHeader: { written: 'forwarded', read: 'forwarded', wrong: ['x-real-ip'] },
  coreUrl: { written: 'http://core:5100', read: 'http://core:5100', wrong: ['core:5100'] },
  coreToken: { written: 'hub_token', read: 'hub_token', wrong: ['two words', 'line\nline'] },
  callbackBudgetMs: { written: '500', read: 500, wrong: ['0', '8001', '2.5s'] },
  providerTimeoutMs: { written: '1000', read: 1000, wrong: ['99', '120001'] },
  retryDelaySeconds: { written: '1', read: 1, wrong: ['0', '3601'] },
  sweepAfterMs: {
    written: '1, 5,60',
    read: [1000, 5000, 60_000],
    wrong: ['5,5', '0', '60,5', '1.5', 'soon'],
  },
  logLevel: { written: 'warn', read: 'warn', wrong: ['loud', 'WARN'] },
};

/** The lines of the refusal. */
function refusal(flags: Record<string, string>, environment: Record<string, string>): string[] {
  try {
    readSettings(flags, environment);
  } catch (error) {
    if (error instanceof CliError && error.exitCode === 2) return error.message.split('\n');
    throw error;
  }
  throw new Error('nothing was refused');
}

const flagName = (flag: string): string =>
  flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

describe('the settings of a hub', () => {
  for (const { key, env, flag, fallback, parse } of SETTINGS) {
    const { written, read, wrong } = SAMPLES[key];
    const absent = fallback === undefined ? undefined : parse(fallback);

    it(`reads ${env}, and takes an empty one for none`, () => {
      expect(readSettings({}, { [env]: written })[key]).to.deep.equal(read);
      expect(readSettings({}, { [env]: '' })[key])
        .to.deep.equal(absent)
        .and.not.deep.equal(read);
    });

    it(`refuses a wrong ${env} in one line that names it`, () => {
      for (const value of wrong) {
        const lines = refusal({}, { [env]: value });
        expect(lines, value).to.have.length(1);
        expect(lines[0], value).to.match(new RegExp(`^${env}: .{10}`));
      }
    });

    if (flag === undefined) continue;
    it(`reads --${flag} before ${env}, and names it where it is wrong`, () => {
      const [first = ''] = wrong;
      expect(readSettings({ [flagName(flag)]: written }, { [env]: first })[key]).to.deep.equal(read);
      for (const value of ['', ...wrong]) {
        if (value === '' && fallback === '') continue; // for a list, nothing is a value
        expect(refusal({ [flagName(flag)]: value }, { [env]: written })[0]).to.match(
          new RegExp(`^--${flag}: .{10}`),
        );
      }
    });
  }

  it('take no secret from the command line', () => {
    const secrets = SETTINGS.filter(({ flag }) => flag === undefined).map(({ key }) => key);
    expect(secrets).to.have.members(['masterKey', 'coreToken']);
  });

  it('report every wrong value at once', () => {
    const environment = Object.fromEntries(
      SETTINGS.map(({ key, env }) => [env, SAMPLES[key].wrong[0] ?? '']),
    );
    const named = refusal({}, environment).map((line) => line.slice(0, line.indexOf(':')));
    expect(named).to.deep.equal(SETTINGS.map(({ env }) => env));
  });

  it('are refused without a word of what secrets hold', () => {
    const secret = fc.string({ unit: fc.constantFrom(...'abcdef0123456789'), minLength: 12, maxLength: 40 });
    fc.assert(
      fc.property(secret, (password) => {
        const lines = refusal(
          { databaseUrl: `mysql://hub:${password}@db/hub` },
          {
            REDIS_URL: `http://:${password}@cache`,
            HUB_MASTER_KEY: password,
            HUB_CORE_TOKEN: `${password} ${password}`,
          },
        );
        return lines.length === 4 && !lines.join().includes(password);
      }),
    );
  });

  it('contradict each other only where a hub would use both', () => {
    const gateway = { HUB_ROLE: 'gateway' };
    const core = { HUB_CORE_URL: 'http://core:5100', HUB_CORE_TOKEN: 'hub_token' };
    expect(refusal({}, gateway)).to.deep.equal([
      'HUB_CORE_URL: the role gateway needs the RPC address of the core',
      'HUB_CORE_TOKEN: the role gateway needs a service token for the core',
    ]);
    expect(readSettings({}, { ...gateway, ...core }).coreToken).to.equal('hub_token');
    expect(refusal({}, { HUB_MASTER_KEY: KEY, HUB_MASTER_KEY_FILE: '/keys' })[0]).to.match(
      /^HUB_MASTER_KEY, HUB_MASTER_KEY_FILE: set one of them/,
    );
    expect(refusal({ port: '5100' }, {})[0]).to.match(/^HUB_PORT, HUB_RPC_PORT: .*differ/);
    expect(readSettings({ port: '0', rpcPort: '0' }, {}).rpcPort).to.equal(0);
    expect(readSettings({ port: '5100' }, { HUB_ROLE: 'core' }).port).to.equal(5100);
    expect(readSettings({ port: '5100' }, { ...gateway, ...core }).port).to.equal(5100);
  });

  it('report contradictions beside wrong values, and none that follows from one', () => {
    const lines = refusal({ port: 'x', rpcPort: '5099' }, { HUB_ROLE: 'gateway', HUB_CORE_URL: 'core' });
    expect(lines.map((line) => line.slice(0, line.indexOf(':')))).to.deep.equal([
      '--port',
      'HUB_CORE_URL',
      'HUB_CORE_TOKEN',
    ]);
  });

  it('stop serve, demo and migrate with exit code 2 before anything is started or made', async function () {
    this.timeout(30_000); // it starts programs
    const dataDir = join(tmpdir(), `hub-test-${randomUUID()}`);
    const env = { HUB_LOG_LEVEL: 'loud', HUB_MASTER_KEY: 'short', HUB_DATA_DIR: dataDir };
    const results = await Promise.all(
      [['serve'], ['demo'], ['migrate', 'up']].map((words) =>
        hubctl([...words, '--database-url', 'db'], env),
      ),
    );
    for (const { code, stdout, stderr } of results) {
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' });
      expect(stderr).to.equal(
        [
          'hubctl: --database-url: must be an address that starts with postgres:// or postgresql://',
          '        HUB_MASTER_KEY: the value, line 1: not a key. Write 32 bytes in base64 (44 characters) or hex (64)',
          '        HUB_LOG_LEVEL: must be one of trace, debug, info, warn, error, silent, not "loud"',
          '',
        ].join('\n'),
      );
    }
    expect(existsSync(dataDir), dataDir).to.equal(false);
  });
});
