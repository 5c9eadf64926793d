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

export function createPayloadOf({ readers, licenseKeyOf }: PayloadOptions) {
  const withKey = async (event: ClaimedDelivery, data: Data): Promise<Data> => {
    if (event.type !== 'license.issued' || data === null) return data;
    const licenseKey = await licenseKeyOf(event.objectId);
    return licenseKey === undefined ? data : { ...data, licenseKey };
  };
  const currentObject = async (event: ClaimedDelivery): Promise<Data> => {
    const ref = objectRef(event);
    return (await readObjects(readers, [ref]))(ref)?.data ?? null;
  };

  /**
   * Returns the body of a delivery. If the event has no stored data, the body has the current object. It is
   * read for one delivery at a time, so that an object that cannot be read delays no other delivery.
   */
  return async (event: ClaimedDelivery, includeKeys: boolean): Promise<string> => {
    const data = event.data ?? (await currentObject(event));
    return formatPayload({ ...event, data: includeKeys ? await withKey(event, data) : data });
  };
}

/** The `webhook-id` of an event's deliveries. */
export function webhookId(eventId: string): string {
  return formatId('evt', eventId);
}
