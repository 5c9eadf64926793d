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

/** Yields each batch once it is committed. A batch is whole or not there at all; ending the loop ends the issuing. */
export async function* issueLicenses(
  { admin }: Hub,
  request: IssueRequest,
  count: number,
): AsyncGenerator<readonly IssuedLicense[]> {
  for (let done = 0; done < count; done += BATCH) {
    const { licenses } = await admin.issueLicenses({ ...request, count: Math.min(BATCH, count - done) });
    yield licenses;
  }
}
