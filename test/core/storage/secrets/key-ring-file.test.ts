// Master keys: the key ring's notation, and the file it is kept in.

import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect } from 'chai';
import {
  createMasterKeyFile,
  loadMasterKeyFile,
  readMasterKeys,
} from '../../../../core/storage/secrets/key-ring-file.ts';

const BYTES = Buffer.from(Array.from({ length: 32 }, (_, index) => 255 - index));
const OTHER = Buffer.alloc(32, 0xfb);

describe('a master key ring', () => {
  it('reads keys in base64 or hex, in the order of the lines', () => {
    const keys = readMasterKeys(`${BYTES.toString('base64')}\n${OTHER.toString('hex').toUpperCase()}`);
    expect(keys.map(({ secret }) => secret.export())).to.deep.equal([BYTES, OTHER]);
  });

  it('allows comments, blank lines, surrounding spaces and Windows line ends', () => {
    const keys = readMasterKeys(`\ufeff# first\r\n\r\n  ${BYTES.toString('hex')}\t\r\n # second\r\n`);
    expect(keys.map(({ secret }) => secret.export())).to.deep.equal([BYTES]);
  });

  it('derives the same id from both notations, and different ids from different keys', () => {
    const [[base64], [hex], [other]] = [
      readMasterKeys(BYTES.toString('base64')),
      readMasterKeys(BYTES.toString('hex')),
      readMasterKeys(OTHER.toString('hex')),
    ];
    expect(base64?.id).to.match(/^[0-9a-f]{16}$/);
    expect(hex?.id).to.equal(base64?.id);
    expect(other?.id).not.to.equal(base64?.id);
  });

  it('does not print its keys', () => {
    const printed = inspect(readMasterKeys(BYTES.toString('hex')), { depth: null, showHidden: true });
    expect(printed).not.to.include(BYTES.toString('hex', 0, 4));
    expect(printed).not.to.include('fffefdfc');
    expect(printed).not.to.include('ff fe fd');
  });

  const wrong: Readonly<Record<string, string>> = {
    'a key too short': BYTES.toString('base64', 1),
    'a key too long': `${BYTES.toString('hex')}00`,
    'a key without its padding': BYTES.toString('base64').slice(0, -1),
    'a key with stray bits at its end': BYTES.toString('base64').replace(/.=$/, 'B='),
    'a key in another alphabet': OTHER.toString('base64url'),
    'a key with a space inside': BYTES.toString('base64').replace(/^.../, '$& '),
    'two keys': `${BYTES.toString('hex')},${OTHER.toString('hex')}`,
  };
  for (const [what, line] of Object.entries(wrong)) {
    it(`names the line, without its contents, if it contains ${what}`, () => {
      const error = errorOf(() => readMasterKeys(`# keys\n${OTHER.toString('hex')}\n${line}\n`));
      expect(error.message).to.include('line 3: not a key');
      expect(error.message).not.to.include(line.slice(0, 8));
    });
  }

  it('names both lines of a repeated key', () => {
    const error = errorOf(() => readMasterKeys(`${BYTES.toString('hex')}\n\n${BYTES.toString('base64')}`));
    expect(error.message).to.include('line 3: the same key as line 1');
  });

  it('requires at least one key', () => {
    expect(errorOf(() => readMasterKeys('# none yet\n')).message).to.include('openssl rand -base64 32');
  });
});

describe('a master key file', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'hub-master-key-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('is created with one fresh key, readable by its owner only', async () => {
    const [first, second] = [join(directory, 'first'), join(directory, 'second')];
    await createMasterKeyFile(first);
    await createMasterKeyFile(second);
    expect((await stat(first)).mode & 0o777).to.equal(0o600);
    const [[key, ...more], [other]] = [loadMasterKeyFile(first), loadMasterKeyFile(second)];
    expect(more).to.deep.equal([]);
    expect(key?.secret.symmetricKeySize).to.equal(32);
    expect(key?.id).not.to.equal(other?.id);
  });

  it('is never overwritten', async () => {
    const path = join(directory, 'keys');
    await createMasterKeyFile(path);
    const before = await readFile(path, 'utf8');
    expect((await rejection(createMasterKeyFile(path))).message).to.include('EEXIST');
    expect(await readFile(path, 'utf8')).to.equal(before);
  });

  for (const mode of [0o640, 0o604, 0o620, 0o610]) {
    it(`is refused with mode ${mode.toString(8)}, with the command that corrects it`, async () => {
      const path = join(directory, 'the keys');
      await createMasterKeyFile(path);
      await chmod(path, mode);
      expect(errorOf(() => loadMasterKeyFile(path)).message).to.include(`Run: chmod 600 '${path}'`);
    });
  }

  it('is named in the error for a wrong line', async () => {
    const path = join(directory, 'keys');
    await writeFile(path, 'not a key\n', { mode: 0o600 });
    expect(errorOf(() => loadMasterKeyFile(path)).message).to.include(`${path}, line 1: not a key`);
  });
});

function errorOf(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('it did not fail');
}

async function rejection(work: Promise<unknown>): Promise<Error> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Error) return error;
  throw new Error('it did not fail');
}
