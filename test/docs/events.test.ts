// docs/events.md and the schemas, compared with the code.
import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { DISABLE_AFTER_MS, RETRY_AFTER_MS } from '../../core/event/delivery/retry-schedule.ts';
import { MAX_ENDPOINTS } from '../../core/event/endpoint/write-endpoints.ts';
import { EVENT_TYPES } from '../../lib/presentation/event-types.ts';
import { ROOT, readPage } from './markdown.ts';

const PAGE = readPage('docs/events.md').replace(/\s+/g, ' ');
const UNITS = { seconds: 1_000, minutes: 60_000, hours: 3_600_000 };
const DAY_MS = 86_400_000;

describe('docs/events.md', () => {
  it('names the pauses between attempts', () => {
    const [, sentence = ''] = /The pauses are ([^.]*), each/.exec(PAGE) ?? [];
    const pauses = [...sentence.matchAll(/([\d, and]+?) (seconds|minutes|hours)/g)].flatMap(
      ([, numbers = '', unit]) =>
        [...numbers.matchAll(/\d+/g)].map(([number]) => Number(number) * UNITS[unit as keyof typeof UNITS]),
    );
    expect(pauses).to.deep.equal(RETRY_AFTER_MS);
    expect(RETRY_AFTER_MS.length, 'The hub makes ten attempts').to.equal(9);
    expect(DISABLE_AFTER_MS, 'for three days').to.equal(3 * DAY_MS);
  });

  it('names the limit of endpoints', () => {
    expect(PAGE).to.contain(`at most ${MAX_ENDPOINTS} endpoints`);
  });
});

describe('docs/reference/events.md', () => {
  it('lists every type, each with one schema', () => {
    const types = Object.keys(EVENT_TYPES);
    const listed = [...readPage('docs/reference/events.md').matchAll(/^\| \[`([^`]+)`\]/gm)];
    expect(listed.map(([, type]) => type)).to.deep.equal(types);
    const files = globSync('**/*.schema.json', {
      cwd: fileURLToPath(new URL('docs/reference/events/', ROOT)),
    });
    const described = files.map((file) => file.replace('.schema.json', '').replace('/', '.'));
    expect(described).to.have.members(types);
  });
});
