// Issues any number of licenses in batches.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  IssuedLicense,
  IssueLicensesRequestSchema,
} from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { Hub } from '../../connect/connection.ts';

/** The terms of each license. The number is a separate parameter. */
export type IssueRequest = Omit<
  MessageInitShape<typeof IssueLicensesRequestSchema>,
  'count' | '$typeName' | '$unknown'
>;

/** The largest batch that the hub accepts. */
export const BATCH = 1000;
/** Calls in flight besides the current batch: the hub generates keys while its database writes others. */
const AHEAD = 2;

/** The first batch has the key itself. The same command derives the same keys when it is repeated. */
function batchKey(idempotencyKey: string, batch: number): string {
  return batch === 0 ? idempotencyKey : `${idempotencyKey}/${batch + 1}`;
}

/** Issues `count` licenses. Starts when `batches` is first read. */
export function issueLicenses({ admin }: Pick<Hub, 'admin'>, request: IssueRequest, count: number) {
  const { idempotencyKey } = request;
  const repeatable = (batch: number) =>
    idempotencyKey !== undefined && { idempotencyKey: batchKey(idempotencyKey, batch) };
  let batches = 0;
  let requested = 0;
  let wanted = count;
  let issued = 0;
  const inFlight = new Set<Promise<unknown>>();
  const waiting = new Set<readonly IssuedLicense[]>();
  const requestBatch = (): Promise<readonly IssuedLicense[]> | undefined => {
    const next = Math.min(BATCH, wanted - requested);
    if (next <= 0) return undefined;
    requested += next;
    const answer = admin
      .issueLicenses({ ...request, ...repeatable(batches++), count: next })
      .then(({ licenses }) => {
        issued += licenses.length;
        waiting.add(licenses);
        return licenses;
      });
    const done = answer.catch(() => {}).finally(() => inFlight.delete(done)); // the reader of the batch gets the error
    inFlight.add(done);
    return answer;
  };
  async function* readBatches(): AsyncGenerator<readonly IssuedLicense[]> {
    // The first one alone: an invalid request would fail for each.
    const queue = [requestBatch()];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const licenses = await next;
      while (queue.length < AHEAD) queue.push(requestBatch());
      waiting.delete(licenses);
      yield licenses;
    }
  }
  return {
    /** Sends no further calls. Resolves once the calls in flight are answered; `batches` still yields them. */
    async stop(): Promise<void> {
      wanted = requested;
      await Promise.all(inFlight);
    },
    issued: () => issued,
    /** Issued licenses that `batches` has not yielded yet. */
    waiting: () => [...waiting].flat(),
    /**
     * Each batch once it is committed; a batch is atomic. The hub works on the next ones meanwhile, so a loop
     * that ends early misses keys: those in `waiting`, after `stop`.
     */
    batches: readBatches(),
  };
}
