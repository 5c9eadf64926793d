// Watched lists and sessions: on a terminal, in a pipe, and during an outage of the hub.
import type { ChildProcess } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { loadCommands } from '../../../cli/load-commands.ts';
import type { Column } from '../../../cli/output/table.ts';
import { watchItems } from '../../../cli/output/watch-list.ts';
import { createProgram } from '../../../cli/program.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { createSession, type Payments, pay, startPayments } from '../../support/hub/payment.ts';
import { startTcpProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { startPrinting } from '../spawn-hubctl.ts';

type Item = { readonly id: string; readonly state: string };
const COLUMNS: readonly Column<Item>[] = [
  { title: 'ID', cell: (item) => item.id },
  { title: 'STATE', cell: (item) => item.state },
];
const LISTING = { columns: COLUMNS, newestFirst: true, none: 'Nothing yet.' };

/** Watches what each look sees, in turn, and answers what was printed by then. */
async function watched(
  looks: readonly (readonly Item[])[],
  terminal: { rows: number; columns: number } | undefined,
) {
  const stdout = Object.assign(new PassThrough(), terminal && { isTTY: true, ...terminal });
  const { commandContext } = createProgram(
    { stdin: new PassThrough(), stdout, stderr: new PassThrough() },
    await loadCommands(),
  );
  let next = 0;
  const look = async () => looks[next++] ?? Promise.reject(new Error('seen enough'));
  const end = await watchItems(commandContext, { look, ...LISTING }, 0.01).catch(
    (error: Error) => error.message,
  );
  expect(end).to.equal('seen enough');
  return String(stdout.read() ?? '');
}

const item = (id: string, state: string): Item => ({ id, state });

describe('a watched list', () => {
  it('prints a line for each item, oldest first, then for each new or changed one', async () => {
    const looks = [
      [item('b', 'new'), item('a', 'new')],
      [item('b', 'new'), item('a', 'new')],
      [item('c', 'new'), item('b', 'done'), item('a', 'new')],
      [],
    ];
    expect(await watched(looks, undefined)).to.equal('ID  STATE\na   new\nb   new\nb   done\nc   new\n');
  });

  it('is redrawn in place on a terminal, as much as fits', async () => {
    const many = ['e', 'd', 'c', 'b', 'a'].map((id) => item(id, `state-${id}-which-is-long`));
    const printed = await watched([[], many, [item('x', 'only')]], { rows: 7, columns: 20 });
    const [nothing = '', all = '', one = ''] = printed.split('\x1b[J');
    const lines = (frame: string) => frame.split('\x1b[K\n').slice(0, -1);
    expect(lines(nothing).slice(1)).to.deep.equal(['', 'Nothing yet.']);
    expect(all.startsWith('\x1b[3A\r')).to.equal(true);
    expect(lines(all).slice(1)).to.deep.equal([
      '',
      'ID  STATE',
      'e   state-e-which-i',
      'd   state-d-which-i',
      'c   state-c-which-i',
    ]);
    expect(one.startsWith('\x1b[6A\r')).to.equal(true);
    expect(lines(one).slice(2)).to.deep.equal(['ID  STATE', 'x   only']);
  });
});

describe('watching a hub', () => {
  let payments: Payments;
  let proxy: TcpProxy;
  const running = new Set<ChildProcess>();
  before(async () => {
    payments = await startPayments();
    proxy = await startTcpProxy(payments.hub.rpcUrl);
  });
  afterEach(() => {
    for (const child of running) child.kill('SIGKILL');
    running.clear();
  });
  after(async () => {
    await proxy?.down();
    await payments?.stop();
  });

  const watch = (...words: string[]) => {
    const started = startPrinting(words, { HUBCTL_SERVER: proxy.url, HUBCTL_TOKEN: payments.hub.token });
    running.add(started.child);
    return started;
  };

  it('continues after an outage of the hub, and ends quietly with Ctrl-C', async () => {
    const first = await createSession(payments, 'gateway_one');
    const { child, printed, end } = watch('session', 'list', '--watch', '--interval', '1');
    await until(() => printed.stdout.includes(first.sessionId), 'the first session is shown');
    await proxy.down();
    await until(() => printed.stderr.includes('trying again'), 'the hub is missed');
    const second = await createSession(payments, 'gateway_one');
    await proxy.up();
    await until(() => printed.stdout.includes(second.sessionId), 'the second session is shown');
    child.kill('SIGINT');
    const { signal } = await end;
    expect(signal).to.equal('SIGINT');
    expect(printed.stdout.match(/^chs_/gm)).to.have.length(2);
    expect(printed.stderr).to.match(/^No hub answers at \S+: trying again\.\nThe hub answers again\.\n$/);
  });

  it('prints only JSON lines with JSON output', async () => {
    const { child, printed, end } = watch(
      'callback',
      'list',
      '--watch',
      '--interval',
      '1',
      '--output',
      'json',
    );
    const session = await createSession(payments, 'gateway_one');
    await pay(payments, session);
    await until(() => printed.stdout.includes('"settled"'), 'the callback is settled');
    child.kill('SIGINT');
    await end;
    const lines = printed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expectPrinted('callback list', lines);
    expect(printed.stderr).to.equal('');
  });

  it('reports changes of a session during an outage of the hub', async () => {
    const session = await createSession(payments, 'gateway_one');
    const { printed, end } = watch('session', 'watch', session.sessionId, '--until-final');
    await until(() => printed.stdout.includes('pending'), 'the current session is shown');
    await proxy.down();
    await until(() => printed.stderr.includes('trying again'), 'the hub is missed');
    await pay(payments, session);
    const sessions = createClient(PaymentService, payments.hub.transport);
    const { sessionId } = session;
    await until(
      async () => (await sessions.getChargeSession({ sessionId })).session?.statusVerified === true,
      'it is paid',
    );
    await proxy.up();
    expect((await end).code).to.equal(0);
    const statuses = printed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ +/)[1]);
    expect(statuses).to.deep.equal(['pending', 'success']);
  });

  it('ends at once if there is no hub at the start, or if it refuses', async () => {
    await proxy.down();
    const none = await watch('slot', 'list', '--watch').end;
    expect(none.code).to.equal(3);
    await proxy.up();
    const refused = await watch('seat', 'list', 'lic_x', '--watch').end;
    expect(refused.code).to.equal(1);
  });
});
