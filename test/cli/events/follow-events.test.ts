// The stream of events behind a connection that breaks without notice.
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { followEvents } from '../../../cli/events/follow-events.ts';
import { loadCommands } from '../../../cli/load-commands.ts';
import { createProgram } from '../../../cli/program.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { until } from '../../support/until.ts';

describe('the stream of events', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  it('is opened again after a silence, and continues after the last event', async () => {
    const app = await createApp(hub.admin);
    const stderr = new PassThrough();
    const { program, commandContext } = createProgram(
      {
        stdin: new PassThrough(),
        stdout: new PassThrough(),
        stderr,
      },
      await loadCommands(),
    );
    for (const [name, value] of Object.entries({ server: hub.rpcUrl, token: hub.token })) {
      program.setOptionValueWithSource(name, value, 'cli');
    }
    let notes = '';
    stderr.setEncoding('utf8').on('data', (text: string) => {
      notes += text;
    });
    let opened = 0;
    const onOpen = async () => {
      opened++;
    };
    const seen: string[] = [];
    const options = { maxSilenceMs: 500, onOpen };
    const following = followEvents(commandContext, { types: [], app }, options, async ({ object }) => {
      seen.push(object);
      if (seen.length === 2) throw new Error('seen enough');
    }).catch((error: Error) => error.message);
    await until(() => opened === 1, 'the stream is open');
    const first = await issueLicense(hub.admin, { app });
    await until(() => notes.includes('The hub answers again.'), 'the stream is opened again');
    expect(notes).to.match(/^The hub has sent nothing for 1 s: trying again\.\nThe hub answers again\.\n/);
    const second = await issueLicense(hub.admin, { app });
    expect(await following).to.equal('seen enough');
    expect(seen).to.deep.equal([first.licenseId, second.licenseId]);
    expect(opened).to.equal(1);
  });
});
