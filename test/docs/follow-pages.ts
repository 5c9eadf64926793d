// Runs the commands of pages in order beside a demo, and compares their output with the page.
//
// The commands of a console block must print its text; a block of sh must succeed. `<!-- given: … -->` is a command that
// the reader of the page does not see, and `<!-- file: … -->` the name under which the reader saves the next block.
import { expect } from 'chai';
import { createDatabase } from '../support/postgres/databases.ts';
import { foundRedis } from '../support/redis/redis.ts';
import { isGenerated, listPages, type Part, readPage, readParts } from './markdown.ts';
import { type Demo, type Step, startDemo, steady, steps } from './run-doc-commands.ts';

/** Without `output`, a step only has to succeed. */
type Followed = Pick<Step, 'command'> & Partial<Step>;

/** Tests the commands of the pages that `isIncluded` selects. Each caller starts a demo of its own. */
export function followPages(isIncluded: (path: string) => boolean): void {
  let demo: Demo;
  before(async () => {
    demo = await startDemo();
  });
  after(() => demo?.stop());

  for (const path of listPages().filter(isIncluded)) {
    const page = readPage(path);
    const followed = isGenerated(page) ? [] : readParts(page).flatMap(stepsOf);
    if (followed.length === 0) continue;
    it(`of ${path} print the output that the page shows`, async () => {
      const stand = {
        'postgres://hub@db/hub': await createDatabase(),
        'redis://redis': foundRedis(),
      };
      const outcomes = await demo.follow(
        followed.map(({ command }) => command),
        { stand, inProcess: path !== 'README.md' },
      );
      followed.forEach(({ command, output }, index) => {
        const outcome = outcomes[index];
        expect(outcome?.code, `${command}\n${outcome?.complaints}`).to.equal(0);
        if (output !== undefined) expect(steady(outcome?.output ?? ''), command).to.equal(steady(output));
      });
    });
  }
}

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
