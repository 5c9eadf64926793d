// hubctl console: says where the console is, and opens it where there is something to open it with.
import { chmod, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { until } from '../../support/until.ts';
import { hubctl, MACHINE_NODE } from '../spawn-hubctl.ts';

const SERVER = { HUBCTL_SERVER: 'http://127.0.0.1:7100', HUBCTL_TOKEN: 'hub_secret' };
const ADDRESS = 'http://127.0.0.1:7100/console/';

describe('hubctl console', () => {
  it('prints the address of the console, without a token', async () => {
    const { code, stdout } = await hubctl(['console'], SERVER);
    expect({ code, stdout }).to.deep.equal({ code: 0, stdout: `Console  ${ADDRESS}\n` });
    const json = await hubctl(['console', '--output', 'json'], SERVER);
    expect(JSON.parse(json.stdout)).to.deep.equal({ console: ADDRESS });
  });

  it('opens it in the browser, or reports that there is no opener', async function () {
    if (process.platform !== 'linux') return this.skip();
    const folder = await makeDataDir();
    try {
      await symlink(MACHINE_NODE, join(folder, 'node'));
      const env = { ...SERVER, PATH: folder };
      const none = await hubctl(['console', '--open'], env);
      const reason = `hubctl: There is no xdg-open here: open ${ADDRESS} yourself.\n`;
      expect([none.code, none.stderr]).to.deep.equal([1, reason]);
      const opened = join(folder, 'opened');
      await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\necho "$@" > ${opened}\n`);
      await chmod(join(folder, 'xdg-open'), 0o755);
      const { code } = await hubctl(['console', '--open'], env);
      expect(code).to.equal(0);
      const told = () => readFile(opened, 'utf8').catch(() => '');
      await until(async () => (await told()) === `${ADDRESS}\n`, 'it is opened');
    } finally {
      await discard(folder);
    }
  });
});
