// Contexts: how they are stored, which hub is chosen, and that credentials are never mixed.
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { chooseHub, type Typed } from '../../../cli/connect/choose-hub.ts';
import { contextsFile, type StoredContexts } from '../../../cli/connect/stored-contexts.ts';
import { runLine } from '../../../cli/run.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { hubctlHere, type Printed } from '../run-here.ts';
import { ended, environmentOf, type Result, start } from '../spawn-hubctl.ts';

const STORED: StoredContexts = {
  current: 'shop',
  contexts: {
    shop: { server: 'https://shop.example', token: 'shop-token', ca: '/shop.pem' },
    test: { server: 'https://test.example', clientCert: '/test.crt', clientKey: '/test.key' },
  },
};
const cli = (value: string) => ({ value, from: '--flag', source: 'cli' as const });
const env = (value: string) => ({ value, from: 'VARIABLE', source: 'env' as const });
const choose = (typed: { readonly [option: string]: Typed }, stored: StoredContexts = STORED) =>
  chooseHub(
    (option) => typed[option],
    () => stored,
    ({ value, from }) => ({ value: `content of ${value}`, from }),
  );
const short = ({ context, server, token }: ReturnType<typeof choose>) =>
  [context ?? '-', server?.value ?? '-', token?.value ?? '-'].join(' ');

describe('the chosen hub', () => {
  it('is that of the command line, then the environment, then the current context, then the local one', () => {
    expect(short(choose({ server: cli('http://typed'), context: env('test') }))).to.equal('- http://typed -');
    expect(short(choose({ context: cli('test'), server: env('http://env') }))).to.match(/^test /);
    expect(short(choose({ dataDir: cli('/hub'), server: env('http://env') }))).to.equal('- - -');
    expect(short(choose({ server: env('http://env'), context: env('test') }))).to.equal('- http://env -');
    expect(short(choose({ context: env('test'), dataDir: env('/hub') }))).to.match(/^test /);
    expect(short(choose({ dataDir: env('/hub') }))).to.equal('- - -');
    expect(short(choose({}))).to.equal('shop https://shop.example shop-token');
    expect(short(choose({}, { contexts: {} }))).to.equal('- - -');
  });

  it('is the local one for the context local', () => {
    expect(short(choose({ context: cli('local'), server: env('http://env'), token: env('t') }))).to.equal(
      '- - -',
    );
    expect(short(choose({ context: env('local') }))).to.equal('- - -');
  });

  it('does not get a token from the environment if its context was given', () => {
    const typed = choose({ context: cli('shop'), token: env('other'), ca: env('/other.pem') });
    expect(short(typed)).to.equal('shop https://shop.example shop-token');
    expect(typed.trust.ca).to.equal('/shop.pem');
    expect(short(choose({ context: cli('shop'), token: cli('mine') }))).to.match(/ mine$/);
    expect(short(choose({ token: env('other') }))).to.match(/^shop .* other$/);
  });

  it('never gets the token of a context at another address', () => {
    expect(short(choose({ server: cli('http://elsewhere') }))).to.equal('- http://elsewhere -');
    expect(short(choose({ server: env('http://elsewhere') }))).to.equal('- http://elsewhere -');
  });

  it('gets a token from a file, and only one kind of credentials', () => {
    expect(short(choose({ tokenFile: cli('f') }))).to.match(/ content of f$/);
    expect(short(choose({ tokenFile: cli('f'), token: env('t') }))).to.match(/ content of f$/);
    expect(short(choose({ tokenFile: env('f'), token: cli('t') }))).to.match(/ t$/);
    expect(() => choose({ tokenFile: cli('f'), token: cli('t') })).to.throw('give one of them');
    expect(() => choose({ context: cli('shop'), server: cli('http://x') })).to.throw('give one of them');
    const certified = choose({ clientCert: cli('/me.crt'), clientKey: cli('/me.key') });
    expect(short(certified)).to.equal('shop https://shop.example -');
    expect(choose({ context: cli('test') }).trust.clientCert).to.equal('/test.crt');
  });

  it('must have a known name', () => {
    expect(() => choose({ context: cli('shp') })).to.throw('--flag: there is no context shp');
    expect(() => choose({}, { current: 'gone', contexts: {} })).to.throw('The context in use: there is no');
    expect(() => choose({ context: cli('constructor') })).to.throw('there is no context constructor');
  });
});

describe('hubctl context', () => {
  let hub: TestHub;
  let config: string;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());
  beforeEach(async () => {
    config = await makeDataDir();
  });
  afterEach(() => discard(config));

  const at = () => ({ XDG_CONFIG_HOME: config, HUB_DATA_DIR: '' });
  const run = (...words: string[]): Promise<Printed> => hubctlHere(words, at());
  const context = (...words: string[]) => run('context', ...words);
  const json = async (...words: string[]) => {
    const { code, stdout, stderr } = await context(...words, '--output', 'json');
    expect({ code, stderr }, words.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    expectPrinted(`context ${words[0]}`, JSON.parse(stdout));
    return JSON.parse(stdout);
  };
  /** With the token on standard input. */
  const add = async (name: string, ...words: string[]): Promise<Result> => {
    const line = ['context', 'add', name, '--server', hub.rpcUrl, '--token-file', '-', ...words];
    const child = start(line, at(), 'pipe');
    child.stdin?.end(`${hub.token}\n`);
    return ended(child);
  };
  /** On a terminal. Resolves when the command asks for the token; `answer` resolves with the exit code. */
  const addAtPrompt = async (name: string) => {
    const terminal = () => Object.assign(new PassThrough(), { isTTY: true });
    const [stdin, stderr] = [terminal(), terminal()];
    const original = process.env;
    process.env = environmentOf(at()); // the command reads it again after the answer
    const streams = { stdin, stdout: new PassThrough(), stderr };
    const { done } = await runLine(['context', 'add', name, '--server', hub.rpcUrl], streams);
    await until(() => String(stderr.read()).includes('Token: '), 'the command asks for the token');
    return {
      async answer(token = hub.token): Promise<number> {
        stdin.write(`${token}\n`);
        return done.finally(() => {
          process.env = original;
        });
      },
    };
  };

  it('adds, uses, shows, checks and removes a context', async () => {
    const added = await add('shop', '--output', 'json');
    expect(added).to.include({ code: 0, stderr: '' });
    const tokenId = `tok_${hub.token.split('_')[1]}`;
    const shop = { name: 'shop', current: false, server: hub.rpcUrl, authentication: 'token', tokenId };
    expectPrinted('context add', JSON.parse(added.stdout));
    expect(JSON.parse(added.stdout)).to.deep.equal(shop);
    expect(
      (await json('list')).map((each: { name: string; current: boolean }) => [each.name, each.current]),
    ).to.deep.equal([
      ['local', true],
      ['shop', false],
    ]);
    // Independent of a hub at the default address of this machine.
    expect((await run('app', 'list')).code).to.be.oneOf([3, 4]);
    expect((await run('app', 'list', '--context', 'shop')).code).to.equal(0);
    expect(await json('use', 'shop')).to.deep.equal({ ...shop, current: true });
    expect((await run('app', 'list')).code).to.equal(0);
    expect(await json('show')).to.deep.equal({ ...shop, current: true });
    expect(await json('check')).to.include({ context: 'shop', server: hub.rpcUrl, tokenId, role: 'admin' });
    expect((await context('check', 'local')).code).to.be.oneOf([3, 4]);
    expect((await json('use', 'local')).current).to.equal(true);
    expect((await json('remove', 'shop')).name).to.equal('shop');
    expect(await json('list')).to.have.length(1);
    expect((await run('app', 'list', '--context', 'shop')).stderr).to.contain('there is no context shop');
  });

  it('stores the token in a file that only its owner can read, and never prints it', async () => {
    const printed = [
      await add('shop'),
      await context('list'),
      await context('show', 'shop'),
      await add('shop'),
    ];
    const file = contextsFile({ XDG_CONFIG_HOME: config });
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect((await stat(join(config, 'hubctl'))).mode & 0o777).to.equal(0o700);
    expect(await readFile(file, 'utf8')).to.contain(hub.token);
    expect(JSON.stringify(printed)).not.to.contain(hub.token.split('_').slice(2).join('_')); // which may have underscores of its own
    expect(printed.at(-1)?.stderr).to.contain('Replace it with --force');
    expect((await add('shop', '--force')).code).to.equal(0);
    const damaged = JSON.stringify({ current: 'shop', contexts: { shop: { server: 5, token: 'CANARY' } } });
    await writeFile(file, damaged);
    const refused = await context('list');
    expect(refused.code).to.equal(2);
    expect(refused.stderr).to.contain('is damaged').and.not.contain('CANARY');
  });

  it('is refused if others can read the file, or if the token would be visible', async () => {
    const file = contextsFile({ XDG_CONFIG_HOME: config });
    await mkdir(join(config, 'hubctl'), { mode: 0o700 });
    await writeFile(file, JSON.stringify(STORED), { mode: 0o644 });
    expect((await run('app', 'list')).stderr).to.match(/contexts\.json is open to other users .*chmod 600/);
    const server = ['--server', hub.rpcUrl];
    await writeFile(file, '{"contexts":{}}');
    const open = join(config, 'token');
    await writeFile(open, hub.token, { mode: 0o644 });
    const wrong = await Promise.all([
      hubctlHere(['context', 'add', 'shop', ...server, '--token', hub.token], {
        ...at(),
        XDG_CONFIG_HOME: '/nowhere',
      }),
      hubctlHere(['app', 'list', ...server, '--token-file', open]),
      hubctlHere(['app', 'list', ...server], { HUBCTL_TOKEN_FILE: '/nowhere/token' }),
    ]);
    expect(wrong.map(({ code }) => code)).to.deep.equal([2, 2, 2]);
    expect(wrong[0]?.stderr).to.match(/^hubctl: --token: other users/);
    expect(wrong[1]?.stderr).to.match(/^hubctl: --token-file: token file .* is open to other users/);
    expect(wrong[2]?.stderr).to.equal('hubctl: HUBCTL_TOKEN_FILE: /nowhere/token cannot be read (ENOENT).\n');
  });

  it('keeps the changes that other commands make while it waits for the token', async () => {
    await add('old');
    await context('use', 'old');
    const adding = await addAtPrompt('shop');
    await add('test');
    await context('remove', 'old');
    await context('use', 'test');
    expect(await adding.answer()).to.equal(0);
    const names = (await json('list')).map((each: { name: string }) => each.name);
    expect(names).to.deep.equal(['local', 'shop', 'test']);
    expect((await json('show')).name).to.equal('test');
  });

  it('does not replace a context that another command has added meanwhile', async () => {
    const adding = await addAtPrompt('shop');
    await add('shop');
    expect(await adding.answer('hub_other')).to.equal(2);
    expect(await readFile(contextsFile({ XDG_CONFIG_HOME: config }), 'utf8')).to.contain(hub.token);
  });

  it('takes nothing for a new context from the environment', async () => {
    const environment = { ...at(), HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token };
    const [unnamed, secretless, badly] = await Promise.all([
      hubctlHere(['context', 'add', 'shop'], environment),
      hubctlHere(['context', 'add', 'shop', '--server', hub.rpcUrl], environment),
      hubctlHere(['context', 'add', 'local', '--server', hub.rpcUrl], environment),
    ]);
    expect(unnamed?.stderr).to.contain('--server <url>: this option is required');
    expect(secretless?.stderr).to.contain('Give the token with --token-file');
    expect(badly?.stderr).to.contain('this context always exists');
    await add('shop');
    const used = await hubctlHere(['context', 'use', 'shop'], environment);
    expect(used.stderr).to.contain('HUBCTL_SERVER is set and overrides the current context');
  });
});
