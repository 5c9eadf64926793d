// What the hub asks PostgreSQL, on a database with months of work in it: nothing it does may grow with what is there.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { faultsOf, yieldOf } from '../../bench/scale/judge-plan.ts';
import { observe, type Statement } from '../../bench/scale/observe.ts';
import { prepare } from '../../bench/scale/prepare.ts';
import { discard, makeDataDir } from '../support/data-dir.ts';
import { createDatabase } from '../support/postgres.ts';

const LICENSES = 50_000;
/** So many that a month of the journal has more blocks than a statement may touch. */
const SESSIONS = 20_000;

/** Blocks that any statement may touch; reading all licenses would be five times as many. */
const MOST_BLOCKS = 300;
/** And for each row that it answers with or writes: an index, and the row, in each month; or each index, and the row. */
const MOST_BLOCKS_PER_ROW = 10;

/** Prepared statements that take a rare event, and need not be seen. All others have to be. */
const NOT_DRIVEN = [
  'find_certificate_caller', // a client certificate: one small table
  'find_unlinked_audit_entries', // the audit log is verified: all of it is read
  'join_callbacks', // more than 256 callbacks of one session wait
  'note_reason', // a payment that does not fit; a session by its id
  'postpone_callback', // the hub itself is in trouble; a callback by its id
  'write_last_used', // once a minute at most; a token by its id
];

/** The queue looks after itself: every second it reads what is in it, which is what hubs have not finished. */
const HOUSEKEEPING = /^BEGIN; SET LOCAL lock_timeout = \d+; .* job\.(job|queue)/;

describe('the plans of the statements of a hub', function () {
  this.timeout(300_000);
  let dataDir: string;
  let statements: Statement[];
  before(async () => {
    const databaseUrl = await createDatabase();
    dataDir = await makeDataDir();
    const { population } = await prepare({ databaseUrl, dataDir, licenses: LICENSES, sessions: SESSIONS });
    statements = await observe({ databaseUrl, dataDir, population });
  });
  after(() => discard(dataDir));

  it('read by indexes, in their order, and touch no more blocks than the answer needs', () => {
    const faulty = statements
      .filter(({ text }) => !HOUSEKEEPING.test(text))
      .flatMap(({ name, text, plans }) => {
        const faults = plans.flatMap((plan) =>
          faultsOf(plan, MOST_BLOCKS + MOST_BLOCKS_PER_ROW * yieldOf(plan)),
        );
        return faults.length > 0
          ? [`${name ?? 'a statement'} ${[...new Set(faults)].join(', ')}: ${text}`]
          : [];
      });
    expect(faulty).to.deep.equal([]);
  });

  it('are those of all prepared statements there are', () => {
    const seen = new Set(statements.flatMap(({ name }) => name?.replace(/_\d+$/, '') ?? []));
    const prepared = preparedStatements();
    expect(prepared).to.include.members(NOT_DRIVEN);
    expect(prepared.filter((name) => !seen.has(name) && !NOT_DRIVEN.includes(name))).to.deep.equal([]);
  });
});

/** The names that stand in the code before the text of a statement, without the number that some end with. */
function preparedStatements(): string[] {
  const core = join(import.meta.dirname, '../../core');
  const names = globSync('**/*.ts', { cwd: core, exclude: ['storage/migrations'] }).flatMap((file) => {
    const code = readFileSync(join(core, file), 'utf8');
    return [...code.matchAll(/name: ['`](\w+?)(?:_\$\{\w+\})?['`],(?:\s*\/\/[^\n]*)*\s*text[:,]/g)].map(
      ([, name = '']) => name,
    );
  });
  return [...new Set(names)].sort();
}
