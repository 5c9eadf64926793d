// Caches the stored record in memory, so that the client works while the store fails.
import { LicenseError } from '../errors.ts';
import type { Expected } from '../license/verify-license.ts';
import { createSerialQueue } from '../serial-queue.ts';
import { type LicenseState, readLicenseState } from './license-state.ts';
import { type LicenseRecord, writeRecord } from './record.ts';
import type { LicenseStore } from './store.ts';

export type RecordCache = ReturnType<typeof createRecordCache>;

/**
 * Calls `onRead` with each new state. No method rejects if the store fails: `problem` reports it until the store works
 * again.
 */
export function createRecordCache(
  store: LicenseStore,
  expected: Expected,
  onRead: (state: LicenseState) => void,
) {
  const queue = createSerialQueue();
  let state: LicenseState = { kind: 'nothing' };
  let problem: LicenseError | undefined;
  /** The text of the record, and whether the store has it. */
  let kept: { text: string | undefined; isSaved: boolean } | undefined;

  const hold = async (text: string | undefined, isSaved: boolean): Promise<void> => {
    const next = await readLicenseState(text, expected);
    kept = { text, isSaved };
    state = next;
    onRead(state);
  };
  const save = async (text: string | undefined): Promise<void> => {
    try {
      await (text === undefined ? store.clear() : store.save(text));
      kept = { text, isSaved: true };
      problem = undefined;
    } catch (cause) {
      problem = new LicenseError('store_failed', 'the license record cannot be saved', { cause });
    }
  };
  const load = async (): Promise<void> => {
    // A record that could not be saved is newer than the stored one.
    if (kept?.isSaved === false) return save(kept.text);
    let text: string | undefined;
    try {
      text = (await store.load()) ?? undefined; // localStorage returns null
      problem = undefined;
    } catch (cause) {
      problem = new LicenseError('store_failed', 'the license record cannot be loaded', { cause });
      if (kept === undefined) state = { kind: 'unusable', reason: 'store_failed' };
      return;
    }
    if (kept === undefined || text !== kept.text) await hold(text, true);
  };

  return {
    /** As of the last reload or update. */
    get state(): LicenseState {
      return state;
    },
    get problem(): LicenseError | undefined {
      return problem;
    },
    /** Reads the store, which another process may have changed. */
    reload: (): Promise<void> => queue(load),
    /** Reloads, then saves the record that `next` returns; undefined changes nothing. */
    update: (next: (state: LicenseState) => LicenseRecord | undefined): Promise<void> =>
      queue(async () => {
        await load();
        const record = next(state);
        if (record === undefined) return;
        await hold(await writeRecord(record), false);
        await save(kept?.text);
      }),
    clear: (): Promise<void> =>
      queue(async () => {
        await hold(undefined, false);
        await save(undefined);
      }),
  };
}
