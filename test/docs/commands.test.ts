// The commands of every page, run in order beside a demo, and compared with what the page shows.
//
// A console block is compared with what its commands print; a block of sh has to succeed. `<!-- given: … -->` in a page is
// a command that its reader does not see, and `<!-- file: … -->` above a block the name under which its reader saves it.
import { expect } from 'chai';
import { createDatabase } from '../support/postgres/databases.ts';
import { foundRedis } from '../support/redis/redis.ts';
import { isGenerated, listPages, type Part, readPage, readParts } from './markdown.ts';
import { type Demo, type Step, startDemo, steady, steps } from './run-doc-commands.ts';

/** A step whose output nobody compares has none. */
type Followed = Pick<Step, 'command'> & Partial<Step>;

/** Programs are started by the dozen. */
const PAGE_MS = 180_000;

describe('the commands', function () {
  this.timeout(PAGE_MS);
  let demo: Demo;
  before(async () => {
    demo = await startDemo();
  });
  after(() => demo?.stop());

  for (const path of listPages()) {
    const page = readPage(path);
    const followed = isGenerated(page) ? [] : readParts(page).flatMap(stepsOf);
    if (followed.length === 0) continue;
    it(`of ${path} do what it says`, async () => {
      const stand = {
        'postgres://hub@db/hub': await createDatabase(),
        'redis://redis': foundRedis(),
      };
      const outcomes = await demo.follow(
        followed.map(({ command }) => command),
        stand,
      );
      followed.forEach(({ command, output }, index) => {
        const outcome = outcomes[index];
        expect(outcome?.code, `${command}\n${outcome?.complaints}`).to.equal(0);
        if (output !== undefined) expect(steady(outcome?.output ?? ''), command).to.equal(steady(output));
      });
    });
  }
});

function stepsOf(part: Part): Followed[] {
  if (part.kind === 'note') {
    const [, command] = /^given: (.*)$/s.exec(part.text) ?? [];
    return command === undefined ? [] : [{ command }];
  }
  const { language, content, note } = part;
  if (/^(not run|tested by)\b/.test(note)) return [];
  const [, file] = /^file: (\S+)$/.exec(note) ?? [];
  if (file !== undefined) return [{ command: `cat > ${file} <<'END OF FILE'\n${content}END OF FILE` }];
  if (language === 'console') return steps(content);
  // A command of several that fails ends them all.
  return language === 'sh' ? [{ command: `set -e\n${content}set +e` }] : [];
}
