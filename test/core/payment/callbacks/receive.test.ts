// Checks the limit of callbacks that are processed inline, and that others are journaled and answered at once.

import { expect } from 'chai';
import { pino } from 'pino';
import { newUuid } from '../../../../core/ids.ts';
import type { Journal } from '../../../../core/payment/callbacks/journal.ts';
import { createReceiveCallback } from '../../../../core/payment/callbacks/receive.ts';
import { createPaymentMetrics } from '../../../../core/payment/metrics.ts';
import { createMetrics } from '../../../../lib/metrics/metrics.ts';

describe('receiving callbacks', () => {
  it('processes a limited number inline, and leaves the others to jobs without delay', async () => {
    const held = Promise.withResolvers<void>();
    const [journaled, processed]: string[][] = [[], []];
    const journal: Pick<Journal, 'append'> = {
      append: async (callback) => {
        const id = newUuid();
        journaled?.push(id);
        return {
          kind: 'received',
          session: undefined,
          callback: { ...callback, id, state: 'received', triedSince: undefined, waits: false },
        };
      },
    };
    const { receive, idle } = createReceiveCallback({
      journal,
      process: {
        inline: async ({ id }) => {
          processed?.push(id);
          await held.promise;
        },
      },
      openSigned: () => expect.fail(),
      metrics: createPaymentMetrics(createMetrics(), []),
      logger: pino({ level: 'silent' }),
      budgetMs: 60_000,
      maxInline: 2,
    });
    const unsigned = { body: new Uint8Array(), headers: {} };
    const request = { gateway: 'gateway_two', method: 'GET', sessionId: undefined, fields: {}, ...unsigned };
    const waiting = [receive(request), receive(request)];
    expect((await receive(request)).body).to.equal('ok');
    expect((await receive(request)).body).to.equal('ok');
    expect(journaled).to.have.length(4);
    expect(processed).to.deep.equal(journaled?.slice(0, 2));
    held.resolve();
    await Promise.all(waiting);
    await idle();
    await receive(request);
    expect(processed).to.have.length(3);
  });
});
