// The secrets that sign deliveries: creates, seals and opens them.
import { Secret } from '../../secret.ts';
import type { SealedColumn } from '../../storage/secrets/reseal.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { createWebhookSecret } from '../delivery/signature.ts';
import type { Endpoint } from '../entities.ts';

type Sealed = Pick<Endpoint, 'id'> & {
  readonly sealedSecret?: Uint8Array | null | undefined;
  readonly sealedPreviousSecret?: Uint8Array | null | undefined;
  readonly previousSecretUntil?: Date | null | undefined;
};

export type EndpointSecrets = ReturnType<typeof createEndpointSecrets>;

/** The context of sealing: a secret of one endpoint cannot be opened as that of another. @param id UUID */
export const sealedFor = (id: string): string => `event_endpoint:${id}`;

/** Sealed columns, to re-seal when the master key is rotated. */
export const ENDPOINT_SECRETS: readonly SealedColumn[] = ['sealed_secret', 'sealed_previous_secret'].map(
  (sealedColumn) => ({ table: 'event_endpoint', idColumn: 'id', sealedColumn, about: sealedFor }),
);

export function createEndpointSecrets(sealer: Sealer) {
  return {
    /** Returns a new secret, `whsec_…`, and its sealed form. */
    create(endpointId: string) {
      const secret = createWebhookSecret();
      return { secret, sealed: sealer.seal(Buffer.from(secret.reveal()), sealedFor(endpointId)) };
    },
    /** The secrets to sign with: the current one, and the previous one while it is kept. */
    open(endpoint: Sealed, now: Date): readonly Secret<string>[] {
      const { id, sealedSecret, sealedPreviousSecret, previousSecretUntil } = endpoint;
      const isKept = previousSecretUntil && previousSecretUntil > now;
      const sealed = [sealedSecret, isKept ? sealedPreviousSecret : null].filter((value) => value != null);
      return sealed.map((value) => new Secret(sealer.open(value, sealedFor(id)).toString()));
    },
  };
}
