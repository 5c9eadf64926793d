// Every code block of a page is run by a test, or states why not.
import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { SETTINGS } from '../../cli/serve/setting-table.ts';
import { unknownToHubctl } from './known-to-hubctl.ts';
import { type Block, isGenerated, listPages, ROOT, readBlocks, readPage } from './markdown.ts';

const { scripts } = JSON.parse(readPage('package.json'));

/** Those of commands, and of tests. */
const OTHER_VARIABLES = [
  'HUB_DATA_DIR',
  'HUBCTL_SERVER',
  'HUBCTL_TOKEN',
  'HUB_TEST_OUTAGE_SECONDS',
  'HUB_TEST_POSTGRES_BIN',
];

describe('the code blocks', () => {
  for (const path of listPages()) {
    const page = readPage(path);
    const blocks = isGenerated(page) ? [] : readBlocks(page);
    if (blocks.length === 0) continue;
    it(`of ${path} are run, or say why not`, () => {
      expect(
        blocks.flatMap((block) =>
          troubleOf(block, path).map((what) => `${what}: ${block.content.split('\n', 1)}`),
        ),
      ).to.deep.equal([]);
    });
  }
});

function troubleOf({ language, content, note }: Block, path: string): string[] {
  const [, where] = /^tested by (\S+)/.exec(note) ?? [];
  if (where !== undefined) {
    const tests = existsSync(new URL(where, ROOT)) ? readPage(where) : '';
    return tests.includes(path) ? [] : [`${where} does not test ${path}`];
  }
  switch (language) {
    case 'sh':
      // What is not excused, commands.test.ts runs.
      return [
        ...unknownVariables(content),
        ...(/^not run: \S/.test(note) ? content.split('\n').flatMap(unknownWords) : []),
      ];
    case 'console': // commands.test.ts
    case 'text': // no command, and no code
    case 'mermaid':
      return [];
    case 'json':
      return isJson(content) ? [] : ['this is not JSON'];
    default:
      if (/^(not run: |file: )\S/.test(note)) return []; // commands.test.ts makes the files, and uses them
      return [
        language === '' ? 'say which language this is' : 'say which test reads it (<!-- tested by … -->)',
      ];
  }
}

function unknownVariables(commands: string): string[] {
  const known = SETTINGS.flatMap(({ env }) => [env, `${env}_FILE`]).concat(OTHER_VARIABLES);
  const named = [...commands.matchAll(/\b((?:HUB|HUBCTL)_[A-Z_]+|DATABASE_URL|REDIS_URL)=/g)];
  return named.filter(([, name = '']) => !known.includes(name)).map(([, name]) => `nothing reads ${name}`);
}

/** The parts of a command line that do not exist: scripts, test files, hubctl commands and their options. */
function unknownWords(line: string): string[] {
  const [command = ''] = line.split(' #');
  const [, script] = /\bnpm run (?:-s )?([\w:-]+)/.exec(command) ?? [];
  const [, file] = /\bmocha (\S+)/.exec(command) ?? [];
  const [, words] = /\bhubctl ((?:[^|;&)"]|"[^"]*")*)/.exec(command) ?? [];
  return [
    ...(script !== undefined && !(script in scripts) ? [`there is no script ${script}`] : []),
    ...(file !== undefined && !existsSync(new URL(file, ROOT)) ? [`there is no ${file}`] : []),
    ...(words !== undefined ? unknownToHubctl(words.trim().split(/\s+/)) : []),
  ];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
