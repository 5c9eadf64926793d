// How many callbacks are dealt with while their senders wait, and that the rest is journaled and answered at once.

import { expect } from 'chai';
import { pino } from 'pino';
import { newUuid } from '../../../core/ids.ts';
import type { Journal } from '../../../core/payment/journal.ts';
import { createPaymentMeter } from '../../../core/payment/payment-meter.ts';
import { createReceiveCallback } from '../../../core/payment/receive-callback.ts';
import { createMetrics } from '../../../metrics/metrics.ts';

const no = () => Promise.reject(new Error('no part of this test'));

describe('receiving callbacks', () => {
  it('deals with so many at a time, and leaves the rest to their jobs without a wait', async () => {
    const held = Promise.withResolvers<void>();
    const [journaled, processed]: string[][] = [[], []];
    const journal: Pick<Journal, 'append'> = {
      append: async (callback) => {
        const id = newUuid();
        journaled?.push(id);
        return { ...callback, id, state: 'received', triedSince: undefined, waits: false };
      },
    };
    const { receive, settled } = createReceiveCallback({
      journal,
      noteIgnored: no,
      process: {
        inline: async ({ id }) => {
          processed?.push(id);
          await held.promise;
        },
      },
      meter: createPaymentMeter(createMetrics(), []),
      logger: pino({ level: 'silent' }),
      budgetMs: 60_000,
      maxInline: 2,
    });
    const request = { gateway: 'gateway_two', method: 'GET', sessionId: undefined, fields: {} };
    const waiting = [receive(request), receive(request)];
    expect((await receive(request)).body).to.equal('ok');
    expect((await receive(request)).body).to.equal('ok');
    expect(journaled).to.have.length(4);
    expect(processed).to.deep.equal(journaled?.slice(0, 2));
    held.resolve();
    await Promise.all(waiting);
    await settled();
    await receive(request);
    expect(processed).to.have.length(3);
  });
});
