// hubctl top: the load of a hub as JSON, as text and on a terminal.
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import type { Output } from '../../../cli/output/output.ts';
import { createScreen } from '../../../cli/output/screen.ts';
import { sparkLine } from '../../../cli/output/spark-line.ts';
import { runLine } from '../../../cli/run.ts';
import type { Streams } from '../../../cli/streams.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { runHere } from '../run-here.ts';

describe('hubctl top', () => {
  let hub: TestHub;
  let asking = true;
  let asked: Promise<void>;
  before(async () => {
    hub = await startHub({ settings: { licenseRatePerMinute: 0 } });
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    const seat = JSON.stringify({ licenseKey, machineFingerprint: 'laptop-1' });
    const ask = async () => {
      while (asking) {
        await fetch(`${hub.gatewayUrl}/v1/status/${licenseId}`);
        await fetch(`${hub.gatewayUrl}/v1/activate`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: seat,
        });
      }
    };
    asked = ask();
  });
  after(async () => {
    asking = false;
    await asked;
    await hub?.stop();
  });

  it('prints rates, latencies and the state of the hub as JSON', async () => {
    const { code, stdout, stderr } = await runHere(['top', '--interval', '1', '--output', 'json'], hub);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    const load = JSON.parse(stdout);
    expectPrinted('top', load);
    const status = load.requests.find(({ name }: { name: string }) => name === '/v1/status/{licenseId}');
    expect(status.perSecond).to.be.above(0);
    expect(status.p50Ms).to.be.above(0);
    expect(status.p99Ms).to.be.at.least(status.p50Ms);
    expect(status.errorsPerSecond).to.equal(0);
    expect(load.licenses.activationsPerSecond).to.be.above(0);
    expect(load.licenses.seatsTakenPerSecond).to.be.below(load.licenses.activationsPerSecond);
    expect(load.database.up).to.equal(true);
    expect(load.database.limit).to.be.above(0);
    expect(load.process.memoryBytes).to.be.above(1e6);
    expect(load.callbacks).to.include({ perSecond: 0, waiting: 0, stray: 0, dead: 0 });
  });

  it('prints one plain snapshot without a terminal', async () => {
    const { code, stdout } = await runHere(['top', '--interval', '1'], hub);
    expect(code).to.equal(0);
    expect(stdout).to.match(/^REQUESTS +PER SECOND +FAILED +P50 +P99\n/);
    expect(stdout).to.match(/^\/v1\/activate +[1-9][\d.]* +0 +[\d.]+ ms +[\d.]+ ms$/m);
    expect(stdout).to.match(/^Database +\d+ of \d+ connections busy, \d+ waiting$/m);
    expect(stdout).not.to.include('\x1b');
  });

  it('refreshes on a terminal, within its size, with a chart of the past', async () => {
    const stdout = Object.assign(new PassThrough(), { isTTY: true, rows: 12, columns: 90 });
    let printed = '';
    stdout.on('data', (piece) => {
      printed += piece;
    });
    const made = await runHere(['token', 'create', '--role', 'monitor', '--output', 'json'], hub);
    const { token, tokenId } = JSON.parse(made.stdout);
    const streams = { stdin: new PassThrough(), stdout, stderr: new PassThrough() };
    const { done } = await runLine(
      ['top', '--interval', '1', '--server', hub.rpcUrl, '--token', token],
      streams,
    );
    const frames = () => printed.split('\x1b[J').slice(0, -1);
    await until(() => frames().length >= 4, 'three readings are drawn', 20_000);
    const last = frames().at(-1) ?? '';
    const [back = '', ...lines] = last.split('\r');
    expect(back).to.equal(`\x1b[${lines.join('').split('\n').length - 1}A`);
    expect(last).to.match(/\/v1\/(activate|status\/\S+) .*[▂▃▄▅▆▇█]/); // the one that is asked more often just then
    expect(last).to.include('Database');
    expect(lines.join('').split('\n').length - 1).to.be.at.most(11);
    for (const line of lines.join('').split('\x1b[K\n')) expect(line.length).to.be.below(90);
    // What it may no longer see, it does not wait for.
    await runHere(['token', 'revoke', tokenId, '--yes'], hub);
    expect(await done).to.equal(4);
  });
});

describe('a screen', () => {
  it('uses as many lines as fit, so that it can return to the first', async () => {
    const stdout = Object.assign(new PassThrough(), { rows: 3, columns: 90 });
    let printed = '';
    const text = async (piece: string): Promise<void> => {
      printed += piece;
    };
    const { draw } = createScreen({ stdout } as unknown as Streams, { text } as Output);
    await draw(['one', 'two', 'three', 'four']);
    await draw(['five']);
    expect(printed).to.equal('one\x1b[K\ntwo\x1b[K\n\x1b[J\x1b[2A\rfive\x1b[K\n\x1b[J');
  });
});

describe('a spark line', () => {
  it('has the latest value on the right, and the largest at full height', () => {
    expect(sparkLine([0, 1, 4, 8], 6)).to.equal('  ▁▂▄█');
    expect(sparkLine([8, 0, 0], 2)).to.equal('▁▁');
    expect(sparkLine([], 3)).to.equal('   ');
  });

  it('shows every value above zero', () => {
    expect(sparkLine([1, 1_000], 2)).to.equal('▂█');
  });
});
