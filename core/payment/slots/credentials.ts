// Seals and opens the credentials of a slot.
import { Secret } from '../../secret.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';

export type Credentials = Readonly<Record<string, string>>;

export function sealCredentials(sealer: Sealer, slotId: string, credentials: Credentials): Buffer {
  const plaintext = Buffer.from(JSON.stringify(credentials));
  const sealed = sealer.seal(plaintext, sealedFor(slotId));
  plaintext.fill(0);
  return sealed;
}

/** @throws Error, without secrets, if no master key opens it */
export function openCredentials(sealer: Sealer, slotId: string, sealed: Uint8Array): Secret<Credentials> {
  const plaintext = sealer.open(sealed, sealedFor(slotId));
  const credentials: Credentials = JSON.parse(plaintext.toString());
  plaintext.fill(0);
  return new Secret(credentials);
}

/** The associated data of a slot's credentials: they cannot be opened as those of another slot. */
export function sealedFor(slotId: string): string {
  return `slot:${slotId}`;
}
