// Formats the bodies of deliveries.
import { formatId } from '../../ids.ts';
import { type ObjectReaders, objectRef, readObjects } from '../read-objects.ts';
import type { ClaimedDelivery } from './claim-deliveries.ts';

/** The object of an event as JSON. Null if it no longer exists. */
export type Data = Readonly<Record<string, unknown>> | null;

export type PayloadEvent = Pick<ClaimedDelivery, 'type' | 'at' | 'number'> & { readonly data: Data };

/** `{"type","timestamp","sequence","data"}` as text. */
export function formatPayload({ type, at, number, data }: PayloadEvent): string {
  return JSON.stringify({ type, timestamp: at.toISOString(), sequence: number, data });
}

export type PayloadOptions = {
  readonly readers: ObjectReaders;
  /** The key of the license with this UUID; undefined if the hub cannot derive it. */
  readonly licenseKeyOf: (licenseId: string) => Promise<string | undefined>;
};

export function createPayloads({ readers, licenseKeyOf }: PayloadOptions) {
  const withKey = async (event: ClaimedDelivery, data: Data): Promise<Data> => {
    if (event.type !== 'license.issued' || data === null) return data;
    const licenseKey = await licenseKeyOf(event.objectId);
    return licenseKey === undefined ? data : { ...data, licenseKey };
  };

  /**
   * Returns the bodies of deliveries, in order. If an event has no stored data, its body has the current
   * object.
   */
  return async (events: readonly ClaimedDelivery[], includeKeys: boolean): Promise<string[]> => {
    const objectOf = await readObjects(readers, events.filter(({ data }) => data === null).map(objectRef));
    return Promise.all(
      events.map(async (event) => {
        const data = event.data ?? objectOf(objectRef(event))?.data ?? null;
        return formatPayload({ ...event, data: includeKeys ? await withKey(event, data) : data });
      }),
    );
  };
}

/** The `webhook-id` of an event's deliveries. */
export function webhookId(eventId: string): string {
  return formatId('evt', eventId);
}
