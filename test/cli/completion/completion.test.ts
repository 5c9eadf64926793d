// Completion of a command line that is being typed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { complete } from '../../../cli/completion/complete.ts';
import { printCandidates } from '../../../cli/completion/print-candidates.ts';
import { loadCommands } from '../../../cli/load-commands.ts';
import { createProgram } from '../../../cli/program.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { OfferService } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import type { TestHub } from '../../support/hub/hub.ts';
import { HUBCTL } from '../../support/hub/hub-process.ts';
import { createSession, type Payments, startPayments } from '../../support/hub/payment.ts';
import { until } from '../../support/until.ts';
import { ended, hubctl, MACHINE_PATH } from '../spawn-hubctl.ts';

const { program } = createProgram(process, await loadCommands());
const candidates = (...words: string[]) =>
  complete(program, words, async (kind, { command, given }) => [
    { value: `a-${kind}`, about: `${command} ${JSON.stringify(given)}` },
  ]);
const at = async (...words: string[]) => (await candidates(...words)).names.map(({ value }) => value);

describe('completion', () => {
  it('suggests the commands, and the subcommands of a command', async () => {
    expect(await at('')).to.include.members(['app', 'license', 'key', 'help']);
    expect(await at('li')).to.deep.equal(['license']);
    expect(await at('license', 'rev')).to.deep.equal(['revoke']);
    expect(await at('help', 'license', 'rev')).to.deep.equal(['revoke']);
    expect((await candidates('license', 'rei')).names[0]?.about).to.equal('undo a revocation');
  });

  it('suggests the options of a command and the global ones', async () => {
    expect(await at('key', 'issue', '--o')).to.deep.equal(['--out', '--output']);
    expect(await at('--se')).to.deep.equal(['--server']);
  });

  it('suggests the fixed values of options and arguments', async () => {
    expect(await at('license', 'list', '--state', '')).to.deep.equal([
      'active',
      'grace',
      'suspended',
      'expired',
      'revoked',
    ]);
    expect(await at('license', 'list', '--state=re')).to.deep.equal(['--state=revoked']);
    expect(await at('completion', '')).to.deep.equal(['bash', 'zsh', 'fish']);
    expect(await at('completion', 'bash', '')).to.deep.equal([]);
    expect(await at('serve', '--role', 'c')).to.deep.equal(['core']);
    expect(await at('token', 'create', '--role', 'v')).to.deep.equal(['viewer']);
  });

  it('looks up values in angle brackets, with the values given before', async () => {
    expect(await at('license', 'show', '')).to.deep.equal(['a-licenseId']);
    expect(await at('session', 'list', '--slot=')).to.deep.equal(['--slot=a-slot']);
    expect(await at('license', 'show', 'lic_1', '')).to.deep.equal([]);
    const [profile] = (await candidates('key', 'issue', '--app=demo', '--profile', '')).names;
    expect(profile).to.deep.equal({ value: 'a-profile', about: 'key issue {"app":"demo"}' });
    const [kid] = (await candidates('app', 'withdraw-key', '--yes', 'demo', '')).names;
    expect(kid).to.deep.equal({ value: 'a-kid', about: 'app withdraw-key {"app":"demo"}' });
  });

  it('does not mistake the value of an option for a command or an argument', async () => {
    expect(await at('--server', 'app', 'key', 'is')).to.deep.equal(['issue']);
    expect(await at('-o', 'json', 'sea')).to.deep.equal(['seat']);
  });

  it('understands the three words that bash splits --option=value into', async () => {
    expect(await at('--output', '=', 'j')).to.deep.equal(['json']);
    expect(await at('--output', '=')).to.deep.equal(['table', 'json']);
    expect(await at('--output', '=', 'json', 'key', 'is')).to.deep.equal(['issue']);
  });

  it('leaves file names to the shell', async () => {
    for (const words of [
      ['key', 'issue', '--out', ''],
      ['backup', 'verify', ''],
      ['serve', '--data-dir='],
    ]) {
      expect(await candidates(...words), words.join(' ')).to.deep.equal({ names: [], files: true });
    }
    expect(await candidates('no', 'such', 'command', '--x', 'y')).to.deep.equal({ names: [], files: false });
  });
});

describe('completion with a hub', () => {
  let hub: TestHub;
  let payments: Payments;
  let environment: Record<string, string>;
  before(async () => {
    payments = await startPayments();
    hub = payments.hub;
    environment = { HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token };
  });
  after(() => payments.stop());

  /** The candidates for a shell, without the descriptions after the tab. */
  const offered = async (words: readonly string[], env = environment): Promise<string[]> => {
    const { code, stdout, stderr } = await hubctl(['__complete', ...words], env);
    expect({ code, stderr }, words.join(' ')).to.deep.equal({ code: 0, stderr: '' });
    return stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
  };

  /** The same in this process, where a busy machine needs less than the second that there is. */
  const offeredHere = async (words: readonly string[]): Promise<string[]> => {
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
    await printCandidates(['--server', hub.rpcUrl, '--token', hub.token, ...words], streams);
    const printed = String(streams.stdout.read() ?? '');
    return printed.split('\n').flatMap((line) => line.split('\t')[0] || []);
  };

  it('suggests the names and ids of everything that a command accepts', async () => {
    const { admin } = hub;
    await admin.createApp({ slug: 'photo-lab', name: 'Photo Lab' });
    await admin.rotateSigningKey({ app: 'photo-lab' });
    await admin.setLimitProfile({ app: 'photo-lab', name: 'pro', limits: { projects: 1n } });
    const { licenses } = await admin.issueLicenses({ app: 'photo-lab', seatLimit: 2, count: 2 });
    const [active = '', revoked = ''] = licenses.map(({ license }) => license?.licenseId ?? '');
    await admin.revokeLicense({ licenseId: revoked, reason: 'test' });
    const body = JSON.stringify({ licenseKey: licenses[0]?.licenseKey, machineFingerprint: 'f' });
    const headers = { 'Content-Type': 'application/json' };
    expect((await fetch(`${hub.gatewayUrl}/v1/activate`, { method: 'POST', headers, body })).status).to.equal(
      200,
    );
    const { sessionId } = await createSession(payments, 'gateway_one');
    const callback = await fetch(`${hub.gatewayUrl}/v1/webhooks/gateway_two?paymentID=none&status=cancel`);
    expect(callback.status).to.equal(200);
    const settings = { url: 'https://shop.example/hub', events: ['endpoint.disabled'] };
    const { endpoint } = await createClient(EventService, hub.transport).createEndpoint({ settings });
    const endpointId = endpoint?.endpointId ?? '';
    await payments.admin.addFeeRule({ rule: { name: 'processing', basisPoints: 150 } });
    const offers = createClient(OfferService, hub.transport);
    for (const slug of ['pro', 'old']) {
      const prices = [{ minorUnits: 900n, currency: 'USD' }];
      const terms = { name: 'Pro', prices, grant: { case: 'license', value: {} } } as const;
      await offers.createOffer({ app: 'photo-lab', slug, terms: { ...terms, prices } });
    }
    await offers.archiveOffer({ offer: 'photo-lab/old' });
    const keys = (await admin.getApp({ app: 'photo-lab' })).app?.signingKeys.map(({ kid }) => kid);

    const cases: [line: string, expected: (string | RegExp)[]][] = [
      ['app show p', ['photo-lab']],
      ['app withdraw-key photo-lab', [keys?.[1] ?? '']],
      ['key issue --app photo-lab --profile', ['pro']],
      ['license revoke', [active]],
      ['license reinstate', [revoked]],
      ['license show', [revoked, active]],
      ['seat release', [/^seat_/]],
      ['gateway list --context', ['local']],
      ['session list --slot', ['store', 'wallet']],
      ['session inspect', [sessionId]],
      ['session create --offer', ['photo-lab/pro']],
      ['offer show', ['photo-lab/pro', 'photo-lab/old']],
      ['offer archive', ['photo-lab/pro']],
      ['offer unarchive', ['photo-lab/old']],
      ['order list --license', [revoked, active]],
      ['order show', []],
      ['callback show', [/^cb_/]],
      ['callback list --gateway gateway_o', ['gateway_one']],
      ['fee retire', [/^fee_/]],
      ['token revoke', [/^tok_/]],
      ['endpoint disable', [endpointId]],
      ['endpoint enable', []],
      ['event list --type seat.', ['seat.*', 'seat.activated', 'seat.released']],
      ['event replay evt_1 --endpoint', [endpointId]],
    ];
    const matches = (names: readonly string[], expected: readonly (string | RegExp)[]) =>
      names.length === expected.length &&
      expected.every((each) =>
        names.some((name) => (typeof each === 'string' ? name === each : each.test(name))),
      );
    for (const [line, expected] of cases) {
      const words = /show p$|gateway_o$|seat\.$/.test(line) ? line.split(' ') : [...line.split(' '), ''];
      let names: readonly string[] = [];
      const isRight = async () => {
        names = await offeredHere(words);
        return matches(names, expected);
      };
      await until(isRight, line).catch(() => expect(names, line).to.deep.equal(expected));
    }
    const elsewhere = ['--server', 'http://127.0.0.1:1', 'app', 'show', ''];
    expect(await offered(elsewhere), 'of the hub that is typed').to.deep.equal([]);
  });

  it('suggests nothing if the hub does not answer soon or refuses access', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo; // it listens on TCP
    const hanging = { ...environment, HUBCTL_SERVER: `http://127.0.0.1:${port}` };
    const [none, ...more] = await Promise.all([
      offered(['app', 'show', ''], hanging),
      offered(['app', 'show', ''], { ...environment, HUBCTL_TOKEN: 'wrong' }),
      offered(['app', 'show', ''], { HUBCTL_SERVER: 'nonsense' }),
    ]);
    expect([none, ...more]).to.deep.equal([[], [], []]);
    silent.closeAllConnections();
    silent.close();
  });

  const shells: Record<string, { readonly words: string[]; readonly typed: (script: string) => string }> = {
    bash: {
      words: ['--norc', '-c'],
      typed: (script) => `${script}
        ask() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _hubctl; printf '%s\\n' "\${COMPREPLY[@]}"; }
        ask hubctl license list --state = re
        ask hubctl slot show sto`,
    },
    zsh: {
      words: ['-f', '-c'],
      // What the line editor would do: it keeps _describe to itself.
      typed: (script) => `autoload -U compinit && compinit -u -D
        ${script}
        _describe() { print -l -- "\${(@)\${(@P)2}%%:*}" }
        ask() { words=("$@") CURRENT=$#; _hubctl }
        ask hubctl license list --state re | sed s/--state=//
        ask hubctl slot show sto`,
    },
    fish: {
      words: ['--no-config', '-c'],
      typed: (script) => `${script}
        complete -C 'hubctl license list --state=re' | string replace -r '^--state=(\\\\S*).*' '$1'
        complete -C 'hubctl slot show sto' | string replace -r '\\t.*' ''`,
    },
  };
  for (const [shell, { words, typed }] of Object.entries(shells)) {
    it(`works in ${shell}`, async function () {
      if (!(await exists(shell))) return this.skip();
      const env = { ...process.env, ...environment, PATH: MACHINE_PATH };
      const script =
        shell === 'fish' ? `${HUBCTL} completion fish | source` : `source <(${HUBCTL} completion ${shell})`;
      let printed = '';
      const isRight = async () => {
        const { stdout, stderr } = await ended(spawn(shell, [...words, typed(script)], { env }));
        printed = stdout + stderr;
        return printed === 'revoked\nstore\n';
      };
      // A busy machine may need more than the second that there is.
      await until(isRight, 'the shell completes', 30_000).catch(() =>
        expect(printed).to.equal('revoked\nstore\n'),
      );
    });
  }

  it('is refused for an unknown shell', async () => {
    const { code, stderr } = await hubctl(['completion', 'csh']);
    expect(code).to.equal(2);
    expect(stderr).to.contain('csh is not one of bash, zsh, fish');
  });
});

/** Whether the machine has the program. */
async function exists(name: string): Promise<boolean> {
  const child = spawn(name, ['--version'], { stdio: 'ignore' });
  return Promise.race([once(child, 'exit').then(() => true), once(child, 'error').then(() => false)]).catch(
    () => false,
  );
}
