// A large statement: exact counts, bounded memory. The long form has a million lines.
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { BUILT_IN_PROFILES } from '../../../cli/reconcile/built-in-profiles.ts';
import { compareEntry, emptyComparison } from '../../../cli/reconcile/compare.ts';
import { readStatement } from '../../../cli/reconcile/read-statement.ts';
import { StatementIndex } from '../../../cli/reconcile/statement-index.ts';
import type { UsageView } from '../../../cli/views/payments/usage.ts';
import { IS_LONG } from '../../support/long.ts';

const LINES = IS_LONG ? 1_000_000 : 20_000;
/** What the page on reconciliation says, and as much again for garbage. */
const BYTES_EACH = 1_000;
/** For the parser and its buffers. */
const BYTES_ANYWAY = 150_000_000;
const START = Date.parse('2026-01-01T00:00:00Z');

describe('a large statement', function () {
  this.timeout(300_000);
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hub-test-'));
  });
  after(() => rm(folder, { recursive: true }));

  const idOf = (index: number) => `26010112000${String(index).padStart(9, '0')}zTk5`;
  const minorOf = (index: number) => 10_000 + (index % 977);
  const timeOf = (index: number) => new Date(START + index * 100).toISOString();

  it(`of ${LINES} lines is compared within the memory that the page names`, async () => {
    const path = join(folder, 'statement.csv');
    const file = createWriteStream(path);
    file.write('val_id,tran_id,currency_amount,currency_type,tran_date\n');
    for (let index = 0; index < LINES; index++) {
      const amount = (minorOf(index) / 100).toFixed(2);
      const more = file.write(
        `${idOf(index)},01K7T${String(index).padStart(21, '0')},${amount},BDT,${timeOf(index)}\n`,
      );
      if (!more) await once(file, 'drain');
    }
    await once(file.end(), 'finish');

    const profile = BUILT_IN_PROFILES['gateway_one'] ?? expect.fail();
    const book = new StatementIndex();
    const before = process.memoryUsage.rss();
    const startedAt = performance.now();
    for await (const line of readStatement({
      path,
      profile,
      mapped: {},
      onIgnored: () => {},
      onRead: () => {},
    }))
      book.add(line);
    const readMs = performance.now() - startedAt;
    const found = emptyComparison();
    const period = { from: START, to: START + LINES * 100, toleranceMs: 0, fees: 'none' } as const;
    // Newest first, as the hub lists them; every hundredth is missing there, and every thousandth has another amount.
    for (let index = LINES - 1; index >= 0; index--) {
      const isStrange = index % 100 === 50;
      compareEntry(
        found,
        book,
        entryOf(index, isStrange ? 'STRANGE' : '', index % 1_000 === 1 ? 1 : 0),
        period,
      );
    }
    const bytes = process.memoryUsage.rss() - before;
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const measured = `read in ${Math.round(readMs)} ms, ${seconds} s in all, ${Math.round(bytes / 1e6)} MB`;
    expect(found.missingThere.count).to.equal(LINES / 100);
    expect(found.differs.count).to.equal(LINES / 1_000);
    expect(found.matched).to.equal(LINES - LINES / 100 - LINES / 1_000);
    expect(book.unmatched()).to.have.length(LINES / 100);
    expect(found.missingThere.listed.length).to.be.at.most(10_000);
    expect(bytes, measured).to.be.below(LINES * BYTES_EACH + BYTES_ANYWAY);
  });

  function entryOf(index: number, prefix: string, more: number): UsageView {
    const minorUnits = minorOf(index) + more;
    const money = { amount: '', minorUnits, currency: 'BDT' };
    return {
      usageLogId: `use_${index}`,
      kind: 'payment',
      sessionId: `chs_${prefix}${index}`,
      slot: 'main',
      gateway: 'gateway_one',
      gatewayTransactionId: prefix + idOf(index),
      orderReference: '',
      ...money,
      fees: [],
      feeTotal: money,
      settledAt: timeOf(index),
    };
  }
});
