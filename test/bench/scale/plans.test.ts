// Checks the hub's statements on a database with months of data: no statement's cost may grow with the
// tables.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { asSuperuser, createDatabase, query } from '../../support/postgres/databases.ts';
import { blocksOf, faultsOf, yieldOf } from './judge-plan.ts';
import { observe, type Statement } from './observe.ts';
import { customerAt, FLEET, keyAt, licenseAt, type Population, storedKey } from './population.ts';
import { prepare } from './prepare.ts';

const LICENSES = 30_000;
/** Enough for a month of the journal to have more blocks than a statement may read. */
const SESSIONS = 20_000;

/** The maximum number of blocks per statement. Reading all licenses would take three times as many. */
const MAX_BLOCKS = 300;
/**
 * The additional limit per returned or written row: an index and the row in each month, or each index and the
 * row.
 */
const MAX_BLOCKS_PER_ROW = 10;

/**
 * The maximum for a statement about one license or customer. A busy machine removes dead versions of rows late, so
 * that a statement that read 20 blocks has read 78.
 */
const MAX_BLOCKS_OF_ONE = 100;

/** Dead versions of a license's row that concurrent changes of its seats leave for a moment. */
const MAX_VERSIONS = 20;

/** Prepared statements that need a rare event and may be missing. All others must be observed. */
const NOT_DRIVEN = [
  'advance_check', // moves the next check of a session forward; a session by its id
  'advance_verification', // a session with counted callbacks is locked; a session by its id
  'close_part_reviews', // a refund of an order; the refunds of a session by an index
  'expired_licenses', // every 30 seconds; licenses by an index of their expiry
  'expiring_licenses', // the same
  'find_certificate_caller', // a client certificate: one small table
  'ignore_newer_callbacks', // more than 256 callbacks of one session wait
  'leave_refund_callback', // a callback reports a refund; a callback by its id
  'lock_licenses', // another transaction has locked a license; a license by its key
  'mark_refunded_session', // a callback reports a refund; a session by its id
  'offer_of_price', // the same; the offers, which are few
  'postpone_callback', // the hub has an internal error; a callback by its id
  'postpone_refund_callbacks', // the provider does not answer about refunds; callbacks of a session by an index
  'postpone_refunds', // the same; the refunds of a session by an index
  'read_key_secret', // once per hub and secret, then from memory; a secret by its id
  'read_session_by_proof', // a refund that names only its payment; a session by payment_proof_pkey
  'release_mail', // a hub stops while it sends mails; a mail by its id
  'signing_slots', // a signed callback; the slots, which are few
  'sum_deducted_refunds', // an earlier payment becomes valid again; the refunds of a session by an index
  'write_last_used', // once a minute at most; a token by its id
];

/** The queue's maintenance: every ten seconds it reads its entries, which are the unfinished jobs of hubs. */
const HOUSEKEEPING = /^BEGIN; SET LOCAL lock_timeout = \d+; .* "public"\.(job|queue)/;

/**
 * Statements that walk a fixed number of the newest rows if they find too few, and their limit of blocks: the
 * searches for short and for frequent texts, and filtered lists of events and deliveries.
 */
const WALKS = /order by (id|event_id) desc offset \d{4,} limit 1|(e\.id|"event_id") >= /;
const MAX_BLOCKS_OF_WALK = 1_000;

/** Statements with larger batches than others: the rows that they sort or write. */
const BATCHES: Readonly<Record<string, number>> = { move_events: 1_000, fee_drift: 2_000 };

/** The tables of the queue have the jobs of an hour. Only the erasure of a customer searches them. */
const RARE_ON_JOBS = /^update job set output = null where /;

describe('the plans of the statements of a hub', function () {
  this.timeout(600_000);
  let dataDir: string;
  let statements: Statement[];
  let population: Population;
  before(async () => {
    const databaseUrl = asSuperuser(await createDatabase());
    dataDir = await makeDataDir();
    ({ population } = await prepare({ databaseUrl, dataDir, licenses: LICENSES, sessions: SESSIONS }));
    await keepPendingLists(databaseUrl);
    statements = await observe({ databaseUrl, dataDir, population });
  });
  after(() => discard(dataDir));

  it('use indexes in their order, and read no more blocks than the result needs', () => {
    const faulty = statements
      .filter(({ text }) => !HOUSEKEEPING.test(text) && !RARE_ON_JOBS.test(text))
      .flatMap(({ name, text, executed }) => {
        const most = (WALKS.test(text) ? MAX_BLOCKS_OF_WALK : MAX_BLOCKS) + newBlocksOf(text);
        const atOnce = BATCHES[name ?? ''];
        const faults = executed.flatMap(({ plan }) =>
          faultsOf(plan, most + MAX_BLOCKS_PER_ROW * yieldOf(plan, atOnce), atOnce),
        );
        return faults.length > 0
          ? [`${name ?? 'a statement'} ${[...new Set(faults)].join(', ')}: ${text}`]
          : [];
      });
    expect(faulty).to.deep.equal([]);
  });

  it('read at most a hundred blocks for one license, also with 90 000 taken seats', () => {
    const site = licenseAt(population, LICENSES).id;
    const siteKey = storedKey(keyAt(LICENSES)).hash.toString('hex');
    for (const [name, { ofSite, most }] of Object.entries({
      check_status_of_one: { ofSite: site, most: 20 },
      find_or_allocate_seats: { ofSite: siteKey, most: 40 },
      deactivate: { ofSite: siteKey, most: MAX_BLOCKS_OF_ONE },
    })) {
      const { executed = [] } = statements.find((statement) => statement.name === name) ?? {};
      // Executions for one license.
      const alone = executed.filter(({ parameters }) => /^\$1 = '[^,]*'(, \$|$)/.test(parameters));
      const blocks = (about: boolean) =>
        alone
          .filter(({ parameters }) => parameters.includes(ofSite) === about)
          .map(({ plan }) => blocksOf(plan));
      expect(blocks(true), name).to.have.length.above(10);
      expect(Math.max(...blocks(false)), `${name}: ${blocks(false)}`).to.be.at.most(most);
      expect(Math.max(...blocks(true)), `${name}: ${blocks(true)} and ${blocks(false)}`).to.be.at.most(
        Math.max(...blocks(false)) + MAX_VERSIONS,
      );
    }
    // The log has no parameters of statements in functions.
    const { executed = [] } = statements.find(({ text }) => text.includes('insert into seat (')) ?? {};
    expect(executed).to.have.length.above(20);
    const perSeat = executed.map(({ plan }) => blocksOf(plan) / Math.max(1, yieldOf(plan)));
    expect(Math.max(...perSeat), `allocate_seats: ${perSeat}`).to.be.at.most(80 + MAX_VERSIONS);
  });

  it('read no more for a customer with 10 000 licenses, and a license with 10 000 changes', () => {
    const { id, name, email, externalRef } = customerAt(population, FLEET.license);
    const license = licenseAt(population, FLEET.license).id;
    const key = storedKey(keyAt(FLEET.license)).hash.toString('hex');
    for (const value of [id, name, email, externalRef, license, key]) {
      // A value in the text or among the parameters, not in a list of many.
      const isAbout = new RegExp(`'[^',]*${value}[^',]*'`, 'i');
      const about = statements.flatMap(({ name: statement, text, executed }) =>
        executed
          .filter(({ parameters }) => isAbout.test(`${text} ${parameters}`))
          .map(({ plan }) => ({
            statement,
            text,
            blocks: blocksOf(plan),
            most:
              MAX_BLOCKS_OF_ONE +
              blocksPerRow(text) * yieldOf(plan) +
              newBlocksOf(text) +
              sampledBlocksOf(text),
          })),
      );
      expect(about.length, value).to.be.above(0);
      expect(
        about.filter(({ blocks, most }) => blocks > most),
        value,
      ).to.deep.equal([]);
    }
  });

  it('cover all prepared statements', () => {
    const seen = new Set(statements.flatMap(({ name }) => name?.replace(/_\d+$/, '') ?? []));
    const known = namesInCode();
    expect(known).to.include.members(NOT_DRIVEN);
    expect(known.filter((name) => !seen.has(name) && !NOT_DRIVEN.includes(name))).to.deep.equal([]);
    // All names of observed statements have a form that `namesInCode` finds.
    expect([...seen].filter((name) => !known.includes(name))).to.deep.equal([]);
  });
});

/** An index and the row. A license that is listed also has its activity, in another table. */
function blocksPerRow(text: string): number {
  return text.includes('from license_activity where license_id = ') ? MAX_BLOCKS_PER_ROW : 4;
}

/** A search samples about twenty blocks. */
function sampledBlocksOf(text: string): number {
  return text.includes('tablesample') ? 30 : 0;
}

/**
 * Blocks that an insert or update may add to its table and indexes besides those that it needs: PostgreSQL adds up to 64 at once
 * if several transactions wait to add some, which happens on a busy machine.
 */
function newBlocksOf(text: string): number {
  return /^(insert into|update) /i.test(text.trim()) ? 4 * 64 : 0;
}

/**
 * An insert now and then moves the new entries of a GIN index from its pending list into the index, and reads hundreds
 * of blocks. No insert does while they are observed.
 */
async function keepPendingLists(databaseUrl: string): Promise<void> {
  const [row] = await query<{ statements: string }>(
    databaseUrl,
    `select string_agg(format('alter index %I set (gin_pending_list_limit = 1000000)', c.relname), ';') as statements
     from pg_class c join pg_am a on a.oid = c.relam
     where a.amname = 'gin' and c.relkind = 'i' and c.relnamespace = current_schema::regnamespace`,
  );
  if (!row?.statements) throw new Error('there is a GIN index');
  await query(databaseUrl, row.statements);
}

/**
 * The values after `name:` in the code, without the number that some end with. A single word counts only
 * before the text of a statement. The names of metrics, which begin with `hub_`, and of indexes do not count.
 */
function namesInCode(): string[] {
  const core = join(import.meta.dirname, '../../../core');
  const exclude = ['storage/schema/migrations', '**/*entities.ts'];
  const names = globSync('**/*.ts', { cwd: core, exclude }).flatMap((file) => {
    const code = readFileSync(join(core, file), 'utf8');
    return [...code.matchAll(NAME)].flatMap(
      ([, name, word, one, other]) => name ?? word ?? [one ?? '', other ?? ''],
    );
  });
  return [...new Set(names)].filter((name) => !name.startsWith('hub_')).sort();
}
const NAME =
  /\bname: (?:['`](?:([a-z]+(?:_[a-z]+)+)(?:_\$\{\w+\})?['`]|([a-z]+)['`],(?:\s*\/\/[^\n]*)*\s*text[:,])|\w+ \? '([a-z_]+)' : '([a-z_]+)')/g;
