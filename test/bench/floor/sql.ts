// The floor of the cases with a database: the bare peer's prepared statements without HTTP, JSON, signatures and
// the provider. `GET /<case>?connections=32&seconds=1` runs them with this concurrency and duration, and
// returns the count.
import { createServer, type IncomingMessage } from 'node:http';
import type { CaseName } from '../cases.ts';
import type { Throughput } from '../load/closed-loop.ts';
import { findOrTakeSeat } from '../peer/activate.ts';
import { findSession, insertCallback } from '../peer/callback.ts';
import { openPool } from '../peer/pool.ts';
import { settle } from '../peer/settle.ts';
import { readStatus } from '../peer/status.ts';
import type { Session } from '../peer/verify.ts';
import { listen } from '../sides/listen.ts';
import { MACHINE, machineOf, SEATS } from '../test-data.ts';

/** Runs one request. Undefined when the prepared data is used up. */
type Work = () => Promise<unknown> | undefined;

const pool = openPool();

async function workOf(caseName: CaseName): Promise<Work> {
  const { rows: licenses } = await pool.query<{ id: string; key_hash: Buffer }>(
    'select id, key_hash from license order by id',
  );
  let begun = 0;
  const next = () => {
    const index = begun++;
    const { id = '', key_hash: keyHash = Buffer.alloc(0) } = licenses[index % licenses.length] ?? {};
    return { id, keyHash, turn: Math.floor(index / licenses.length) };
  };
  const fields = (transactionId: string) => ({
    status: 'VALID',
    tran_id: transactionId,
    val_id: `V-${transactionId}`,
    amount: '100.00',
    currency: 'BDT',
    card_type: 'VISA',
  });
  const seatFor = (seat: number, keyHash: Buffer) =>
    findOrTakeSeat(pool, keyHash, {
      machineFingerprint: machineOf(seat),
      machineLabel: MACHINE.label,
      appVersion: MACHINE.appVersion,
    });
  switch (caseName) {
    case 'status':
      return () => readStatus(pool, next().id, machineOf(0));
    case 'activate':
      return () => {
        const { keyHash, turn } = next();
        return 1 + turn < SEATS ? seatFor(1 + turn, keyHash) : undefined;
      };
    case 'reactivate':
      return () => seatFor(0, next().keyHash);
    case 'callback':
      return () => {
        const { id } = next();
        return insertCallback(pool, id, { ...fields(id), status: 'UNATTEMPTED' });
      };
    case 'settle':
    case 'settle_order': {
      const { rows: pending } = await pool.query<Session>(
        `select id, transaction_id from charge_session
         where status = 'pending' and (offer is not null) = $1`,
        [caseName === 'settle_order'],
      );
      return () => {
        const session = pending.pop();
        return session && settleOne(session);
      };
    }
    case 'public_key':
      throw new Error('its floor is bare node:http');
  }

  async function settleOne({ id, transaction_id: transactionId }: Session): Promise<void> {
    const callbackId = await insertCallback(pool, id, fields(transactionId));
    const session = await findSession(pool, id, transactionId);
    if (session === undefined) throw new Error(`session ${id} is gone`);
    const proof = {
      gatewayTransactionId: `V-${transactionId}`,
      bankTransactionId: `K-${transactionId}`,
    };
    await settle(pool, { session, callbackId, proof });
  }
}

async function drive(work: Work, connections: number, seconds: number): Promise<Throughput> {
  let requests = 0;
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  let last = start;
  const end = start + seconds * 1_000;
  const one = async (): Promise<void> => {
    while (performance.now() < end) {
      const done = work();
      if (done === undefined) return;
      await done;
      requests += 1;
      last = performance.now();
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  const generatorBusy = performance.eventLoopUtilization(before).utilization;
  return { requests, perSecond: (requests * 1_000) / (last - start), generatorBusy };
}

async function answer({ url = '' }: IncomingMessage): Promise<Throughput> {
  const { pathname, searchParams } = new URL(url, 'http://floor');
  const work = await workOf(pathname.slice(1) as CaseName); // only this benchmark calls it
  return drive(work, Number(searchParams.get('connections')), Number(searchParams.get('seconds')));
}

const server = createServer((request, response) => {
  answer(request).then(
    (found) => response.end(JSON.stringify(found)),
    (error) => response.writeHead(500).end(String(error)),
  );
});
listen(server);
