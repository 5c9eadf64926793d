// Issues any number of licenses, a batch per call.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type {
  IssuedLicense,
  IssueLicensesRequestSchema,
} from '../gen/hub/license/v1/license_admin_service_pb.ts';
import type { Hub } from './connection.ts';

/** What to issue; how many is said apart. */
export type IssueRequest = Omit<
  MessageInitShape<typeof IssueLicensesRequestSchema>,
  'count' | '$typeName' | '$unknown'
>;

/** The most the hub issues in one call. */
const BATCH = 1000;
/** Calls under way besides the batch that is dealt with: the hub makes keys while its database writes others. */
const AHEAD = 2;

export type Issuing = {
  /** Asks for no more; the batches that were asked for still come. Resolves once the calls under way are answered. */
  stop(): Promise<void>;
  /** How many licenses the hub has answered with. */
  issued(): number;
  /** Those that it has answered with and `batches` has not handed on. */
  waiting(): readonly IssuedLicense[];
  /**
   * Each batch once it is committed, whole or not there at all. The hub works on the next ones while a batch is dealt
   * with, so that a loop that is left early loses keys: those of `waiting`, after `stop`.
   */
  readonly batches: AsyncIterable<readonly IssuedLicense[]>;
};

/** Issues so many licenses, which begins when the batches are asked for. */
export function issueLicenses({ admin }: Pick<Hub, 'admin'>, request: IssueRequest, count: number): Issuing {
  let asked = 0;
  let wanted = count;
  let issued = 0;
  const underWay = new Set<Promise<unknown>>();
  const waiting = new Set<readonly IssuedLicense[]>();
  const ask = (): Promise<readonly IssuedLicense[]> | undefined => {
    const next = Math.min(BATCH, wanted - asked);
    if (next <= 0) return undefined;
    asked += next;
    const answer = admin.issueLicenses({ ...request, count: next }).then(({ licenses }) => {
      issued += licenses.length;
      waiting.add(licenses);
      return licenses;
    });
    const told = answer.catch(() => {}).finally(() => underWay.delete(told)); // a failure is told where it is awaited
    underWay.add(told);
    return answer;
  };
  async function* inTurn(): AsyncGenerator<readonly IssuedLicense[]> {
    // The first one alone: what is wrong with the request is wrong with each.
    const coming = [ask()];
    for (let next = coming.shift(); next !== undefined; next = coming.shift()) {
      const licenses = await next;
      while (coming.length < AHEAD) coming.push(ask());
      waiting.delete(licenses);
      yield licenses;
    }
  }
  return {
    async stop() {
      wanted = asked;
      await Promise.all(underWay);
    },
    issued: () => issued,
    waiting: () => [...waiting].flat(),
    batches: inTurn(),
  };
}
