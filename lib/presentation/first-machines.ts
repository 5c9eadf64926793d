// Reads the first machines that activated the licenses of an order, for the history of its session.
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import type { Seat } from '../../gen/hub/license/v1/license_pb.ts';
import type { Order } from '../../gen/hub/order/v1/order_pb.ts';

/** Lists seats, newest first. */
export type ListSeats = (request: {
  readonly licenseId: string;
  readonly includeReleased: boolean;
  readonly pageSize: number;
}) => Promise<{ readonly seats: readonly Seat[]; readonly nextPageToken: string }>;

const LICENSES = 10;
const MACHINES_OF_EACH = 3;
/** A license with more seats has been in use for long: its first machines are not worth many calls. */
const SEATS_OF_EACH = 500;

/** At most three machines of each of the first ten licenses, oldest first. */
export async function firstMachines(order: Order | undefined, listSeats: ListSeats): Promise<Seat[]> {
  if (order === undefined) return [];
  const paidAt = milliseconds(order.createdAt);
  const found = order.licenses.slice(0, LICENSES).map(async ({ licenseId }) => {
    const seats = await seatsOf(licenseId, listSeats);
    return seats
      .filter(({ activatedAt }) => milliseconds(activatedAt) >= paidAt)
      .sort((one, other) => milliseconds(one.activatedAt) - milliseconds(other.activatedAt))
      .slice(0, MACHINES_OF_EACH);
  });
  return (await Promise.all(found)).flat();
}

/** Empty for a license that the caller may not see. */
async function seatsOf(licenseId: string, listSeats: ListSeats): Promise<Seat[]> {
  try {
    const { seats, nextPageToken } = await listSeats({
      licenseId,
      includeReleased: true,
      pageSize: SEATS_OF_EACH,
    });
    return nextPageToken === '' ? [...seats] : [];
  } catch (error) {
    const { code } = ConnectError.from(error);
    if (code === Code.PermissionDenied || code === Code.NotFound) return [];
    throw error;
  }
}

function milliseconds(at: Timestamp | undefined): number {
  return at === undefined ? 0 : timestampMs(at);
}
