// Waits until hub and provider agree about payments, refunds and orders.
import { until } from '../../support/until.ts';
import { unreconciled } from '../load/payment-fixture.ts';
import { hurryRefunds } from '../load/refund-load.ts';
import type { Cluster } from '../scenes/cluster.ts';
import { orderTrouble } from './order-books.ts';

/** Between two times that all checks of refunds are made due. Shorter would starve the sweep. */
const HURRY_MS = 3_000;

/** Resolves with the differences that are left at the time limit; none if the books agree. */
export async function untilBooksAgree(
  cluster: Cluster,
  licenses: Parameters<typeof orderTrouble>[1],
  limitMs: number,
): Promise<string[]> {
  let trouble: string[] = [];
  let hurriedAt = Number.NEGATIVE_INFINITY;
  const agree = async (): Promise<boolean> => {
    if (performance.now() - hurriedAt > HURRY_MS) {
      await hurryRefunds(cluster);
      hurriedAt = performance.now();
    }
    trouble = [
      ...(await unreconciled(cluster)),
      ...(await orderTrouble(cluster.databaseUrl, licenses)),
      ...cluster.deaths,
    ];
    return trouble.length === 0;
  };
  await until(agree, 'the books agree', limitMs).catch((error: Error) => {
    if (trouble.length === 0) trouble = [error.message];
  });
  return trouble;
}
