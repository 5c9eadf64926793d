// Statements of providers: every form of CSV that they come in, and errors that name the line and the column.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { BUILT_IN_PROFILES } from '../../../cli/reconcile/built-in-profiles.ts';
import { readAmount } from '../../../cli/reconcile/read-cells.ts';
import type { StatementProfile } from '../../../cli/reconcile/read-profile.ts';
import { readProfile } from '../../../cli/reconcile/read-profile.ts';
import { readStatement, type StatementLine } from '../../../cli/reconcile/read-statement.ts';
import { formatDecimal } from '../../../lib/presentation/money.ts';

describe('a statement', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hub-test-'));
  });
  after(() => rm(folder, { recursive: true }));

  const profileOf = (name: string): StatementProfile => BUILT_IN_PROFILES[name] ?? expect.fail(name);
  const PLAIN: StatementProfile = {
    title: 'plain',
    columns: { id: 'id', amount: 'amount', time: 'time', fee: 'fee' },
    currency: 'BDT',
  };
  let ignored = 0;
  const read = async (
    content: string | Buffer,
    profile = PLAIN,
    mapped: Record<string, string> = {},
  ): Promise<StatementLine[]> => {
    const path = join(folder, 'statement.csv');
    await writeFile(path, content);
    ignored = 0;
    const onIgnored = () => {
      ignored += 1;
    };
    const lines: StatementLine[] = [];
    for await (const line of readStatement({ path, profile, mapped, onIgnored, onRead: () => {} }))
      lines.push(line);
    return lines;
  };
  const problem = (...given: Parameters<typeof read>): Promise<string> =>
    read(...given).then(
      () => 'no error',
      (error: Error) => error.message.replace(folder, ''),
    );

  it('of gateway_one has payments with their fees, reversals, and no attempts that failed', async () => {
    const lines = await read(
      [
        'tran_id,val_id,tran_date,type,status,currency_amount,currency_type,amount,store_amount,currency',
        '01K7T1,V1,2026-11-21 05:59:59,payment,VALIDATED,100.00,BDT,100.00,97.50,BDT',
        '01K7T2,V2,2026-11-21 06:00:00,payment,VALID,10.00,USD,1100.00,1072.50,BDT',
        '01K7T3,,2026-11-21 06:00:00,payment,FAILED,5.00,BDT,5.00,,BDT',
        '01K7T1,V1,2026-11-22 06:00:00,reversal,REVERSED,100.00,BDT,100.00,,BDT',
      ].join('\r\n'),
      profileOf('gateway_one'),
    );
    const [paid, dollars, reversal] = lines;
    expect(lines).to.have.length(3);
    expect(ignored).to.equal(1);
    expect(paid).to.deep.equal({
      line: 2,
      kind: 'payment',
      id: '',
      payment: 'V1',
      reference: '01K7T1',
      minor: 10_000n,
      currency: 'BDT',
      feeMinor: 250n,
      at: Date.parse('2026-11-20T23:59:59Z'),
    });
    expect(dollars).to.include({ minor: 1_000n, currency: 'USD', feeMinor: undefined });
    expect(reversal).to.include({ line: 5, kind: 'reversal', payment: 'V1', minor: 10_000n });
  });

  it('of gateway_two has refunds with the payment, and fees on lines of their own', async () => {
    const lines = await read(
      [
        'Merchant statement;;;;;',
        '',
        'Transaction ID;Original Transaction ID;Transaction Date;Transaction Type;Transacted Amount;Transaction Status',
        'BKL1;;2026-11-21T12:00:00:000 GMT+0600;Payment;"1,250.50";Completed',
        'BKL2;BKL1;2026-11-21 13:00:00;Refund;-250.50;Completed',
        'BKL3;BKL1;2026-11-21 13:00:00;Fee;12.51;Completed',
        'BKL4;;2026-11-21 13:00:00;Settlement;900.00;Completed',
      ].join('\n'),
      profileOf('gateway_two'),
    );
    expect(
      lines.map(({ line, kind, id, payment, minor, at }) => [line, kind, id, payment, minor, at]),
    ).to.deep.equal([
      [4, 'payment', 'BKL1', '', 125_050n, Date.parse('2026-11-21T06:00:00Z')],
      [5, 'refund', 'BKL2', 'BKL1', 25_050n, Date.parse('2026-11-21T07:00:00Z')],
      [6, 'fee', 'BKL3', 'BKL1', 1_251n, Date.parse('2026-11-21T07:00:00Z')],
    ]);
    expect(ignored).to.equal(1);
  });

  it('of Stripe has charges by their payment, in major units of each currency', async () => {
    const header =
      'balance_transaction_id,created_utc,currency,gross,fee,net,reporting_category,source_id,payment_intent_id';
    const lines = await read(
      [
        header,
        'txn_1,2026-11-21 12:00:00,usd,100.00,3.20,96.80,charge,ch_1,pi_1',
        'txn_2,2026-11-21 12:00:01,jpy,-500,0,-500,refund,re_1,pi_2',
        'txn_3,2026-11-22 00:00:00,usd,-96.80,0.00,-96.80,payout,po_1,',
      ].join('\n'),
      profileOf('stripe'),
    );
    expect(lines).to.have.length(2);
    expect(lines[0]).to.include({
      kind: 'payment',
      payment: 'pi_1',
      minor: 10_000n,
      currency: 'USD',
      feeMinor: 320n,
    });
    expect(lines[1]).to.include({
      kind: 'refund',
      id: 're_1',
      payment: 'pi_2',
      minor: 500n,
      currency: 'JPY',
    });
    const bare = header.replace(',payment_intent_id', '');
    expect(await problem(bare, profileOf('stripe'))).to.include('a column for payment (payment_intent_id)');
  });

  it('may have a byte order mark, any separator and line end, quotes, and lines without end', async () => {
    const forms = [
      '\uFEFFid,amount,time\r\nA,1.00,2026-01-01 00:00:00\r\n',
      'id;amount;time\nA;1.00;2026-01-01 00:00:00',
      'ID\tAmount\tTime\rA\t1.00\t2026-01-01 00:00:00\r',
      '"id","amount","time","note"\n"A","1.00","2026-01-01T00:00:00Z","two\nlines, ""quoted"""\n',
    ];
    for (const form of forms) {
      const [line, ...more] = await read(form);
      expect(line, JSON.stringify(form)).to.include({
        line: 2,
        id: 'A',
        minor: 100n,
        at: Date.UTC(2026, 0, 1),
      });
      expect(more).to.deep.equal([]);
    }
    const [, second] = await read('id,amount,note\nA,1.00,"two\nlines"\nB,2.00,\n');
    expect(second?.line).to.equal(4);
  });

  it('is refused with the line and the column, without its values', async () => {
    const bad: [content: string | Buffer, message: string][] = [
      ['id,amount\nA,1.005\n', 'line 2, column "amount"'],
      ['id,amount\nA,1.00\nB,"1.250,00"\n', 'line 3, column "amount": must be an amount such as 1250.00'],
      ['id,amount,time\nA,1.00,21/11/2026\n', 'line 2, column "time": must be a time such as'],
      ['id,amount,time\nA,1.00,2026-02-30 00:00:00\n', 'line 2, column "time"'],
      ['id,amount\n,1.00\n', 'line 2: the line has no id'],
      ['id,amount\nA,"1.00\n', 'this is not CSV (CSV_QUOTE_NOT_CLOSED)'],
      [
        'name,value\nA,1\n',
        'no header with a column for amount (amount), and a column for id, payment or reference',
      ],
      ['', 'no header'],
      [Buffer.from('\uFEFFid,amount', 'utf16le'), 'is not text in UTF-8'],
      ['PK\u0003\u0004', 'is a spreadsheet'],
    ];
    for (const [content, message] of bad) {
      const said = await problem(content);
      expect(said, String(content)).to.include(message);
      expect(said).not.to.include('1.005');
    }
    const unknown = await problem('id,amount,kind\nA,1.00,Cashback\n', {
      ...PLAIN,
      columns: { ...PLAIN.columns, kind: 'kind' },
    });
    expect(unknown).to.include('line 2, column "kind": "Cashback" is not a known kind of line');
  });

  it('takes its columns from --map before the profile', async () => {
    const text = 'Trx,Value,Amount\nA,7.00,1.00\n';
    const [line] = await read(text, PLAIN, { trx: 'id', value: 'amount', Amount: '-' });
    expect(line).to.include({ id: 'A', minor: 700n });
    expect(await problem(text, PLAIN, { Nowhere: 'id' })).to.include('the column "Nowhere"');
    expect(await problem(text, PLAIN, { Trx: 'name' })).to.include('there is no field name');
  });

  it('reads every amount exactly, with and without groups', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, BigInt(Number.MAX_SAFE_INTEGER)),
        fc.constantFrom('BDT', 'JPY', 'KWD'),
        (minor, currency) => {
          const plain = formatDecimal(minor, currency);
          const [whole = '', fraction] = plain.split('.');
          const tail = (sign: string) => (fraction === undefined ? '' : `${sign}${fraction}`);
          const grouped = (mark: string) => whole.replace(/\B(?=(\d{3})+$)/g, mark);
          expect(readAmount(plain, currency, '.')).to.equal(minor);
          expect(readAmount(`-${grouped(',')}${tail('.')}`, currency, '.')).to.equal(-minor);
          expect(readAmount(`${grouped('.')}${tail(',')}`, currency, ',')).to.equal(minor);
        },
      ),
    );
  });

  it('is read by a profile of a file, which is checked', async () => {
    const path = join(folder, 'profile.json');
    const profile = async (value: unknown) => {
      await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value));
      return readProfile(path);
    };
    const columns = { Ref: 'id', Betrag: 'amount', Datum: 'time', Art: 'kind' };
    const kinds = { Zahlung: 'payment', Auszahlung: 'ignore' };
    const own = await profile({
      columns,
      kinds,
      currency: 'EUR',
      decimal: ',',
      dates: 'dmy',
      zone: '+01:00',
    });
    const [line] = await read(
      'Ref;Betrag;Datum;Art\nA;1.250,5;21.11.2026 12:00;zahlung\nB;1,00;22.11.2026;AUSZAHLUNG',
      own,
    );
    expect(line).to.include({
      id: 'A',
      minor: 125_050n,
      currency: 'EUR',
      at: Date.parse('2026-11-21T11:00:00Z'),
    });
    const wrong: [unknown, string][] = [
      ['{', 'cannot be read (not JSON)'],
      [[], 'is not a JSON object'],
      [{}, 'columns must be an object'],
      [{ columns: { A: 'sum' } }, 'columns must be an object from columns to fields'],
      [{ columns, kinds: { A: 'gift' } }, 'kinds must be an object from words to kinds'],
      [{ columns, zone: '6' }, 'zone must be an offset such as +06:00'],
      [{ columns, colour: 'red' }, 'colour must be left out'],
    ];
    for (const [value, message] of wrong) {
      const said = await profile(value).then(
        () => 'no error',
        (error: Error) => error.message,
      );
      expect(said, JSON.stringify(value)).to.include(message);
    }
  });
});
