// Where the credentials of a slot come from, and that they go nowhere else.
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { CliError } from '../../../cli/errors/failure.ts';
import { createOutput } from '../../../cli/output/output.ts';
import { readCredentials } from '../../../cli/parse/credentials.ts';

function console(isTTY: boolean) {
  const streams = {
    stdin: Object.assign(new PassThrough(), { isTTY }),
    stdout: new PassThrough(),
    stderr: Object.assign(new PassThrough(), { isTTY }),
  };
  return { streams, out: createOutput(streams, () => false) };
}

const namesWanted = () => Promise.resolve(['storeId', 'storePassword']);

/** The message of the refusal. */
async function refusalOf(pending: Promise<unknown>): Promise<string> {
  const error = await pending.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof CliError)) throw new Error(`no refusal but ${error}`);
  return error.message;
}

describe('credentials', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hub-test-'));
    file = join(folder, 'one.json');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('are read from a file, with a warning if others can read it', async () => {
    await writeFile(file, '{"storeId":"s","storePassword":"p"}', { mode: 0o600 });
    const at = console(false);
    const wanted = { storeId: 's', storePassword: 'p' };
    expect(await readCredentials(at, file, namesWanted)).to.deep.equal(wanted);
    expect(at.streams.stderr.read()).to.equal(null);

    await chmod(file, 0o644);
    expect(await readCredentials(at, file, namesWanted)).to.deep.equal(wanted);
    expect(String(at.streams.stderr.read())).to.equal(
      `Warning: other users can read ${file}. Run: chmod 600 ${file}\n`,
    );
  });

  it('are read from standard input', async () => {
    const at = console(false);
    at.streams.stdin.end('{"username":"u"}\n');
    expect(await readCredentials(at, '-', namesWanted)).to.deep.equal({ username: 'u' });
  });

  it('are prompted for one by one at a terminal, without echo', async () => {
    const at = console(true);
    at.streams.stdin.write('store-1\nCANARY\n');
    expect(await readCredentials(at, undefined, namesWanted)).to.deep.equal({
      storeId: 'store-1',
      storePassword: 'CANARY',
    });
    expect(String(at.streams.stderr.read())).to.equal('storeId: \nstorePassword: \n');
    expect(at.streams.stdout.read()).to.equal(null);
  });

  it('are not prompted for without a terminal, or twice', async () => {
    expect(await refusalOf(readCredentials(console(false), undefined, namesWanted))).to.contain(
      '--credentials-file',
    );
    const at = console(true);
    at.streams.stdin.end('store-1\n');
    expect(await refusalOf(readCredentials(at, undefined, namesWanted))).to.contain('The input ended');
  });

  it('are abandoned on Ctrl-C', async () => {
    const at = console(true);
    at.streams.stdin.write('store-1\n\u0003');
    expect(await refusalOf(readCredentials(at, undefined, namesWanted))).to.contain('Interrupted');
  });

  it('are never quoted in errors', async () => {
    for (const content of ['CANARY', '{"storeId": CANARY}', '["CANARY"]', '"CANARY"', '{"a": ["CANARY"]}']) {
      await writeFile(file, content);
      const message = await refusalOf(readCredentials(console(false), file, namesWanted));
      expect(message, content).to.contain(file).and.not.to.contain('CANARY');
    }
    const missing = join(folder, 'none.json');
    expect(await refusalOf(readCredentials(console(false), missing, namesWanted))).to.contain('ENOENT');
  });
});
