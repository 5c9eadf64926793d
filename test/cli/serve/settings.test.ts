// The settings of a hub: their sources, their validation, and their contradictions.
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { CliError } from '../../../cli/errors/failure.ts';
import { SETTINGS, type Settings } from '../../../cli/serve/setting-table.ts';
import { readSettings } from '../../../cli/serve/settings.ts';
import { Secret } from '../../../core/secret.ts';
import { makeDataDir } from '../../support/hub/data-dir.ts';
import { hubctl } from '../spawn-hubctl.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

type Sample<T> = {
  written: string;
  read: T;
  wrong: readonly string[];
  /** What has to be set with it. */
  beside?: Record<string, string>;
};

/**
 * For each setting: a valid value that is not the default, in written and parsed form, and invalid values.
 */
const SAMPLES: { [K in keyof Settings]: Sample<Settings[K]> } = {
  role: { written: 'core', read: 'core', wrong: ['worker', 'ALL'] },
  workers: { written: '4', read: 4, wrong: ['0', '-1', '65', '2.5', 'AUTO', 'all'] },
  host: { written: '0.0.0.0', read: '0.0.0.0', wrong: [' '] },
  port: { written: '8080', read: 8080, wrong: ['65536', '-1', '80a', '1e3', '5.0', ' 80'] },
  rpcHost: { written: '::1', read: '::1', wrong: [' '] },
  rpcPort: { written: '8081', read: 8081, wrong: ['65536', 'rpc'] },
  rpcTlsCert: {
    written: '/rpcTlsCert.pem',
    read: '/rpcTlsCert.pem',
    wrong: [' '],
    beside: { HUB_RPC_TLS_KEY: '/hub.key' },
  },
  rpcTlsKey: {
    written: '/rpcTlsKey.pem',
    read: '/rpcTlsKey.pem',
    wrong: [' '],
    beside: { HUB_RPC_TLS_CERT: '/hub.crt' },
  },
  rpcTlsClientCa: {
    written: '/rpcTlsClientCa.pem',
    read: '/rpcTlsClientCa.pem',
    wrong: [' '],
    beside: { HUB_RPC_TLS_CERT: '/hub.crt', HUB_RPC_TLS_KEY: '/hub.key' },
  },
  publicUrl: {
    written: 'https://hub.example',
    read: 'https://hub.example',
    wrong: ['hub.example', 'ftp://hub', 'https://hub.example/?a=b', `https://hub.example/${'a'.repeat(180)}`],
  },
  databaseUrl: {
    written: 'postgresql://db/hub',
    read: new Secret('postgresql://db/hub'),
    wrong: ['db/hub', 'mysql://db'],
  },
  databaseSchema: { written: 'hub_2', read: 'hub_2', wrong: ['pg_hub', 'a.b', 'a"b', ' ', 'a'.repeat(51)] },
  databasePooler: {
    written: 'transaction',
    read: 'transaction',
    wrong: ['session', 'pgbouncer'],
    beside: { DATABASE_URL: 'postgres://db/hub' },
  },
  databaseDirectUrl: {
    written: 'postgresql://db/hub',
    read: new Secret('postgresql://db/hub'),
    wrong: ['db/hub', 'mysql://db'],
    beside: { DATABASE_URL: 'postgres://pooler/hub', HUB_DATABASE_POOLER: 'transaction' },
  },
  databasePool: { written: '25', read: 25, wrong: ['1', '0', '1001', 'many'] },
  redisUrl: {
    written: 'rediss://cache',
    read: new Secret('rediss://cache'),
    wrong: ['cache:6379', 'http://cache', 'redis://cache/db', 'redis://cache:66000', 'redis-sentinel://a,b'],
  },
  redisCluster: {
    written: '1',
    read: true,
    wrong: ['yes', 'on', '2'],
    beside: { REDIS_URL: 'redis://a:1,b:2' },
  },
  redisTlsCa: {
    written: '/redis-ca.pem',
    read: '/redis-ca.pem',
    wrong: [' '],
    beside: { REDIS_URL: 'rediss://cache' },
  },
  masterKey: {
    written: KEY,
    read: new Secret(KEY),
    wrong: ['c2hvcnQ=', `${KEY}\n${KEY}`, '# only a comment'],
  },
  masterKeyFile: { written: '/etc/hub/keys', read: '/etc/hub/keys', wrong: [' '] },
  auditHeadFile: { written: '/mnt/heads/hub-1', read: '/mnt/heads/hub-1', wrong: [' '] },
  licenseRatePerMinute: { written: '100000000', read: 100_000_000, wrong: ['-1', '100000001', 'off'] },
  wrongGuesses: { written: '5', read: 5, wrong: ['-1', 'off'] },
  failedAttemptsPerMinute: { written: '5', read: 5, wrong: ['-1', '1000001', 'off'] },
  maxInFlight: { written: '50', read: 50, wrong: ['0', '100001'] },
  connectionsPerClient: { written: '0', read: 0, wrong: ['-1', '10001', 'many'] },
  eventAllowNetworks: {
    written: '127.0.0.0/8, 10.1.2.3',
    read: ['127.0.0.0/8', '10.1.2.3'],
    wrong: ['10.1.2.3/8', 'localhost', '10.0.0.0/33'],
  },
  trustedProxies: {
    written: '10.0.0.0/8, fd00::1',
    read: ['10.0.0.0/8', 'fd00::1'],
    wrong: ['10.0.0.0/33', 'proxy.local'],
  },
  proxyHeader: { written: 'forwarded', read: 'forwarded', wrong: ['x-real-ip'] },
  corsOrigins: {
    written: 'https://a.example, http://localhost:3000',
    read: ['https://a.example', 'http://localhost:3000'],
    wrong: ['*', 'https://a.example/'],
  },
  docs: { written: 'off', read: false, wrong: ['no', 'false', 'OFF'] },
  coreUrl: { written: 'http://core:5100', read: 'http://core:5100', wrong: ['core:5100'] },
  coreToken: { written: 'hub_token', read: new Secret('hub_token'), wrong: ['two words', 'line\nline'] },
  coreCa: { written: '/coreCa.pem', read: '/coreCa.pem', wrong: [' '] },
  coreClientCert: {
    written: '/coreClientCert.pem',
    read: '/coreClientCert.pem',
    wrong: [' '],
    beside: { HUB_CORE_CLIENT_KEY: '/gateway.key' },
  },
  coreClientKey: {
    written: '/coreClientKey.pem',
    read: '/coreClientKey.pem',
    wrong: [' '],
    beside: { HUB_CORE_CLIENT_CERT: '/gateway.crt' },
  },
  callbackBudgetMs: { written: '500', read: 500, wrong: ['0', '8001', '2.5s'] },
  providerTimeoutMs: { written: '1000', read: 1000, wrong: ['99', '120001'] },
  sessionCallbacks: { written: '20', read: 20, wrong: ['0', '1001'] },
  providerQuestions: { written: '4', read: 4, wrong: ['0', '65'] },
  retryDelaySeconds: { written: '1', read: 1, wrong: ['0', '3601'] },
  sweepAfterMs: {
    written: '1, 5,60',
    read: [1000, 5000, 60_000],
    wrong: ['5,5', '0', '60,5', '1.5', 'soon'],
  },
  smtpUrl: {
    written: 'smtps://mail.example.com:2465',
    read: new Secret('smtps://mail.example.com:2465'),
    wrong: [
      'mail.example.com',
      'http://mail.example.com',
      'smtp://',
      'smtp://shop@mail.example.com',
      'smtp://mail.example.com/inbox',
      'smtp://mail.example.com?tls=maybe',
      'smtp://mail.example.com?starttls=1',
      'smtps://mail.example.com?tls=off',
      'smtp://shop:password@mail.example.com?tls=off',
    ],
    beside: { HUB_MAIL_FROM: 'shop@example.com' },
  },
  smtpCa: {
    written: '/smtp.pem',
    read: '/smtp.pem',
    wrong: [' '],
    beside: { HUB_SMTP_URL: 'smtp://mail.example.com', HUB_MAIL_FROM: 'shop@example.com' },
  },
  mailFrom: {
    written: 'The Shop <shop@example.com>',
    read: { name: 'The Shop', address: 'shop@example.com' },
    wrong: [
      'shop',
      'Shop <shop>',
      'a@example.com, b@example.com',
      '<a@b> <c@d>',
      'Shop\nBcc: x <a@b.example>',
    ],
    beside: { HUB_SMTP_URL: 'smtp://mail.example.com' },
  },
  drainSeconds: { written: '15', read: 15, wrong: ['-1', '3601', '5s'] },
  logLevel: { written: 'warn', read: 'warn', wrong: ['loud', 'WARN'] },
  logFile: { written: '/var/log/hub.log', read: '/var/log/hub.log', wrong: [' '] },
  logFileMegabytes: { written: '10', read: 10, wrong: ['0', '10001', '10m'] },
  logFilesKept: { written: '9', read: 9, wrong: ['0', '1001'] },
};

/** Compares secrets by their contents, because they print alike. */
const plain = (value: unknown): unknown => (value instanceof Secret ? value.reveal() : value);

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
    const { written, read, wrong, beside = {} } = SAMPLES[key];
    const parsed = fallback === undefined ? undefined : parse(fallback);
    const absent = parsed === 'auto' ? 1 : parsed; // workers without Redis

    it(`reads ${env}, and treats an empty one as unset`, () => {
      expect(plain(readSettings({}, { ...beside, [env]: written })[key])).to.deep.equal(plain(read));
      expect(plain(readSettings({}, { [env]: '' })[key]))
        .to.deep.equal(plain(absent))
        .and.not.deep.equal(plain(read));
    });

    it(`refuses a wrong ${env} in one line with its name`, () => {
      for (const value of wrong) {
        const lines = refusal({}, { [env]: value });
        expect(lines, value).to.have.length(1);
        expect(lines[0], value).to.match(new RegExp(`^${env}: .{10}`));
      }
    });

    if (flag === undefined) continue;
    it(`prefers --${flag} to ${env}, and names the wrong one`, () => {
      const [first = ''] = wrong;
      expect(
        plain(readSettings({ [flagName(flag)]: written }, { ...beside, [env]: first })[key]),
      ).to.deep.equal(plain(read));
      for (const value of ['', ...wrong]) {
        if (value === '' && fallback === '') continue; // for a list, nothing is a value
        expect(refusal({ [flagName(flag)]: value }, { [env]: written })[0]).to.match(
          new RegExp(`^--${flag}: .{10}`),
        );
      }
    });
  }

  it('accepts no secrets on the command line', () => {
    const secrets = SETTINGS.filter(({ flag }) => flag === undefined).map(({ key }) => key);
    expect(secrets).to.have.members(['masterKey', 'coreToken']);
  });

  it('accepts addresses and tokens from private files, and no passwords on the command line', async () => {
    const directory = await makeDataDir();
    const file = join(directory, 'secret');
    for (const [env, key, value, beside = {}] of [
      ['DATABASE_URL', 'databaseUrl', 'postgres://hub:pass-word@db/hub'],
      ['REDIS_URL', 'redisUrl', 'redis://:pass-word@cache'],
      ['HUB_CORE_TOKEN', 'coreToken', 'hub_pass-word'],
      ['HUB_SMTP_URL', 'smtpUrl', 'smtps://hub:pass-word@mail', { HUB_MAIL_FROM: 'a@b.example' }],
    ] as const) {
      await writeFile(file, `${value}\n`, { mode: 0o600 });
      expect(readSettings({}, { ...beside, [`${env}_FILE`]: file })[key]?.reveal()).to.equal(value);
      expect(refusal({}, { ...beside, [`${env}_FILE`]: file, [env]: value })).to.deep.equal([
        `${env}_FILE: set this or ${env}, not both`,
      ]);
      await chmod(file, 0o644);
      expect(refusal({}, { ...beside, [`${env}_FILE`]: file })).to.deep.equal([
        `${env}_FILE: file ${file} is open to other users (mode 0644). Run: chmod 600 ${file}`,
      ]);
      await rm(file);
      const flag = SETTINGS.find((setting) => setting.key === key)?.flag;
      if (flag === undefined) continue;
      const [line = ''] = refusal({ [flagName(flag)]: value }, {});
      expect(line).to.contain(`--${flag}: holds a password`).and.not.contain('pass-word');
    }
    await rm(directory, { recursive: true });
  });

  it('reports all wrong values at once', () => {
    const environment = Object.fromEntries(
      SETTINGS.map(({ key, env }) => [env, SAMPLES[key].wrong[0] ?? '']),
    );
    const named = refusal({}, environment).map((line) => line.slice(0, line.indexOf(':')));
    expect(named).to.deep.equal(SETTINGS.map(({ env }) => env));
  });

  it('never prints secrets in errors', () => {
    const secret = fc.string({ unit: fc.constantFrom(...'abcdef0123456789'), minLength: 12, maxLength: 40 });
    fc.assert(
      fc.property(secret, (password) => {
        const lines = refusal(
          { databaseUrl: `mysql://hub:${password}@db/hub` },
          {
            REDIS_URL: `http://:${password}@cache`,
            HUB_MASTER_KEY: password,
            HUB_CORE_TOKEN: `${password} ${password}`,
            HUB_SMTP_URL: `smtp://hub:${password}@mail?tls=off`,
          },
        );
        return lines.length === 5 && !lines.join().includes(password);
      }),
    );
  });

  it('reports contradictions only where a hub would use both values', () => {
    const gateway = { HUB_ROLE: 'gateway' };
    const core = { HUB_CORE_URL: 'http://core:5100', HUB_CORE_TOKEN: 'hub_token' };
    expect(refusal({}, gateway)).to.deep.equal([
      'HUB_CORE_URL: the role gateway needs the RPC address of the core',
      'HUB_CORE_TOKEN: the role gateway needs a service token for the core',
    ]);
    expect(readSettings({}, { ...gateway, ...core }).coreToken?.reveal()).to.equal('hub_token');
    expect(refusal({}, { HUB_MASTER_KEY: KEY, HUB_MASTER_KEY_FILE: '/keys' })[0]).to.match(
      /^HUB_MASTER_KEY, HUB_MASTER_KEY_FILE: set one of them/,
    );
    expect(refusal({ port: '5100' }, {})[0]).to.match(/^HUB_PORT, HUB_RPC_PORT: .*differ/);
    const half = { HUB_RPC_TLS_CERT: '/hub.crt', HUB_CORE_CLIENT_KEY: '/gateway.key' };
    expect(refusal({}, half)).to.deep.equal([
      'HUB_CORE_CLIENT_CERT, HUB_CORE_CLIENT_KEY: set both, the certificate and its key',
      'HUB_RPC_TLS_CERT, HUB_RPC_TLS_KEY: set both, the certificate and its key',
    ]);
    expect(refusal({ rpcTlsClientCa: '/ca.crt' }, {})[0]).to.match(
      /^HUB_RPC_TLS_CLIENT_CA: .*HUB_RPC_TLS_CERT/,
    );
    expect(readSettings({ port: '0', rpcPort: '0' }, {}).rpcPort).to.equal(0);
    expect(readSettings({ port: '5100' }, { HUB_ROLE: 'core' }).port).to.equal(5100);
    expect(refusal({ port: '5100' }, { ...gateway, ...core })[0]).to.match(/^HUB_PORT, HUB_RPC_PORT/);
  });

  it('reports contradictions beside wrong values, but not those caused by one', () => {
    const lines = refusal({ port: 'x', rpcPort: '5099' }, { HUB_ROLE: 'gateway', HUB_CORE_URL: 'core' });
    expect(lines.map((line) => line.slice(0, line.indexOf(':')))).to.deep.equal([
      '--port',
      'HUB_CORE_URL',
      'HUB_CORE_TOKEN',
    ]);
  });

  it('stops serve, demo and migrate with exit code 2 before they start or create anything', async () => {
    const dataDir = join(tmpdir(), `hub-test-${randomUUID()}`);
    const env = { HUB_LOG_LEVEL: 'loud', HUB_MASTER_KEY: 'short', HUB_DATA_DIR: dataDir };
    const results = await Promise.all(
      [['serve'], ['demo'], ['migration', 'apply']].map((words) =>
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
