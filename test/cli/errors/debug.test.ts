// The output of --debug, and that it appears only there.
import { spawn } from 'node:child_process';
import { expect } from 'chai';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { HUBCTL } from '../../support/hub/hub-process.ts';
import { runHere } from '../run-here.ts';
import { ended } from '../spawn-hubctl.ts';

/** An unhandled rejection in a program that waits for a hub. */
const CRASH = `data:text/javascript,setTimeout(() => { undefined.member; }, 0);`;

describe('hubctl --debug', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('logs each call with its time and request id, and never the token', async () => {
    const { code, stderr } = await runHere(['gateway', 'list', '--debug'], hub);
    const [call, done, ...more] = stderr.trim().split('\n');
    expect({ code, more }).to.deep.equal({ code: 0, more: [] });
    expect(call).to.match(
      /^debug: call rpc=hub\.payment\.v1\.PaymentAdminService\/ListGateways server=\S+ code=ok ms=\d+ requestId=[\w-]{36}$/,
    );
    expect(done).to.match(/^debug: done ms=\d+ exitCode=0$/);
    expect(stderr).not.to.contain(hub.token);
  });

  it('prints the stack of an error with its causes, as text and as JSON', async () => {
    const words = ['app', 'show', 'none', '--debug'];
    const { code, stderr } = await runHere(words, hub);
    expect(code).to.equal(1);
    expect(stderr).to.match(
      /^debug: call .* code=failed ms=\d+ requestId=[\w-]{36}\n(debug: call .*\n)*hubctl: none: .*\nConnectError: /,
    );
    expect(stderr).to.match(/^ {4}at /m);
    const lines = (await runHere([...words, '--output', 'json'], hub)).stderr.trim().split('\n');
    // It makes a second call, for similar names.
    const [call, alike, failed, done, ...more] = lines.map((line) => JSON.parse(line));
    expect(more).to.deep.equal([]);
    expect(alike.debug).to.include({ what: 'call', code: 'ok' });
    expect(call.debug).to.include({ what: 'call', code: 'failed' });
    expect(failed.error).to.include({ code: 'app_unknown', field: 'app' });
    expect(failed.error.stack).to.match(/^ConnectError: .*\n {4}at /s);
    expect(done.debug).to.include({ what: 'done', exitCode: 1 });
  });

  it('is required for stack traces, even of unhandled errors', async () => {
    const crash = (...words: string[]) =>
      ended(
        spawn(process.execPath, ['--import', CRASH, HUBCTL, 'app', 'list', '--server', hub.rpcUrl, ...words]),
      );
    const [plain, json, debug] = await Promise.all([crash(), crash('--output', 'json'), crash('--debug')]);
    expect(plain).to.include({ code: 1, stdout: '' });
    expect(plain.stderr).to.match(/^hubctl: This is a bug in hubctl: .*member.* --debug shows where\.\n$/);
    expect(JSON.parse(json.stderr).error)
      .to.have.all.keys('code', 'message')
      .and.include({ code: 'internal' });
    expect(debug.stderr).to.match(/\nTypeError: .*\n {4}at /);
  });

  it('is enabled by HUBCTL_DEBUG too', async () => {
    const env = { ...process.env, HUBCTL_DEBUG: '1' };
    const { stderr } = await ended(
      spawn(process.execPath, [HUBCTL, 'app', 'list', '--server', 'http://127.0.0.1:1'], { env }),
    );
    expect(stderr)
      .to.match(/^debug: call .* code=failed/)
      .and.match(/^ {4}at /m);
    const off = { ...process.env, HUBCTL_DEBUG: '0' };
    const quiet = await ended(
      spawn(process.execPath, [HUBCTL, 'app', 'list', '--server', 'http://127.0.0.1:1'], { env: off }),
    );
    expect(quiet.stderr).to.match(/^hubctl: No hub answers .*\n$/);
  });
});
