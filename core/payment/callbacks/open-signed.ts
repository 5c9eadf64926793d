// Opens signed callbacks: tries the secrets of the gateway's enabled slots.
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { Slot } from '../entities.ts';
import {
  CallbackMalformed,
  type OpenedCallback,
  type SignedBody,
  type SignedCallbacks,
} from '../providers/driver.ts';
import { openCredentials } from '../slots/provider-connections.ts';

/** Resolves with the fields, and the name of the slot whose secret verified the signature. */
export type OpenSigned = (
  gateway: string,
  signed: SignedCallbacks,
  callback: Pick<SignedBody, 'body' | 'headers'>,
) => Promise<OpenedCallback & { readonly slot: string }>;

export type OpenSignedOptions = { readonly pool: Pool; readonly sealer: Sealer; readonly clock: Clock };

/** The function rejects with CallbackMalformed, also if the signature is that of no enabled slot. */
export function createOpenSigned({ pool, sealer, clock }: OpenSignedOptions): OpenSigned {
  const readSlots = createBatcher<string, readonly SigningSlot[]>({
    run: async (gateways) => {
      const slots = await readEnabledSlots(pool, [...new Set(gateways)]);
      return gateways.map((gateway) => slots.filter((slot) => slot.gateway === gateway));
    },
  });

  return async (gateway, signed, { body, headers }) => {
    const missing = signed.headers.find((name) => !headers[name]);
    if (missing !== undefined) throw new CallbackMalformed(missing, `the header ${missing} is required`);
    if (body.length === 0) throw new CallbackMalformed('body', 'the body must not be empty');
    const callback = { body, headers, receivedAt: clock() };
    for (const { id, name, sealedCredentials } of await readSlots(gateway)) {
      const opened = await signed.open(callback, openCredentials(sealer, id, sealedCredentials));
      if (opened !== undefined) return { ...opened, slot: name };
    }
    const [header = 'body'] = signed.headers;
    throw new CallbackMalformed(header, `the signature is not that of an enabled slot of ${gateway}`);
  };
}

type SigningSlot = Pick<Slot, 'id' | 'name' | 'gateway'> & { readonly sealedCredentials: Buffer };

/** The oldest slot first, so that of several slots with one secret always the same is chosen. */
async function readEnabledSlots(pool: Pool, gateways: readonly string[]): Promise<SigningSlot[]> {
  const { rows } = await pool.query<SigningSlot>({
    name: 'signing_slots',
    text: `select id, name, gateway, sealed_credentials as "sealedCredentials" from slot
           where gateway = any($1) and disabled_at is null order by id`,
    values: [gateways],
  });
  return rows;
}
