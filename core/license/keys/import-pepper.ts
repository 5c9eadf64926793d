// The pepper of imported license keys: the secret of the keyed hash that the database stores of them.
import type { KeyObject } from 'node:crypto';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { KeySecrets } from './open-key-secrets.ts';

export type ImportPepper = ReturnType<typeof createImportPepper>;

/**
 * The pepper never changes, so a hub reads it once. Another hub may create it, so a hub that has none reads
 * again for each typed key that needs it. Requests that arrive at the same time share one read.
 */
export function createImportPepper(keySecrets: Pick<KeySecrets, 'active' | 'find'>) {
  let known: KeyObject | undefined;
  const read = createBatcher<undefined, KeyObject | undefined>({
    maxInFlight: 1,
    run: async (requests) => {
      known ??= (await keySecrets.find('import'))?.secret;
      return requests.map(() => known);
    },
  });
  return {
    /** The pepper; undefined before the first import into this database. */
    find: async (): Promise<KeyObject | undefined> => known ?? read(undefined),
    /** The pepper, created if there is none. */
    async findOrCreate(): Promise<KeyObject> {
      known ??= (await keySecrets.active('import')).secret;
      return known;
    },
  };
}
