// Caches the stored record in memory, so that the client works while the store fails.
import { LicenseError } from '../errors.ts';
import { isKeyOf } from '../license/license-key.ts';
import type { Expected } from '../license/verify-license.ts';
import { createSerialQueue } from '../serial-queue.ts';
import { type LicenseState, readLicenseState, recordOf } from './license-state.ts';
import { isSameLicense, type LicenseRecord, writeRecord } from './record.ts';
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
  /** What the store had when it was last read or written; undefined before that. */
  let stored: Copy | undefined;
  /** The record in memory: `stored`, or a later one that could not be saved. */
  let held: Copy | undefined;
  /** If not, the store may have a record of another process. */
  let lastLoadWorked = false;

  const read = async (text: string | undefined): Promise<Copy> => ({
    text,
    state: await readLicenseState(text, expected),
  });
  const hold = (copy: Copy): void => {
    held = copy;
    state = copy.state;
    onRead(state);
  };
  const save = async (copy: Copy): Promise<void> => {
    try {
      await (copy.text === undefined ? store.clear() : store.save(copy.text));
      stored = copy;
      problem = undefined;
    } catch (cause) {
      problem = new LicenseError('store_failed', 'the license record cannot be saved', { cause });
    }
  };
  /** `copy`, plus the license keys of `replaced` whose seats must be released. */
  const withKeysToRelease = async (replaced: Copy, copy: Copy): Promise<Copy> => {
    const [before, record] = [recordOf(replaced.state), recordOf(copy.state)];
    if (before === undefined || record === undefined) return copy;
    const keys = new Set(record.toRelease);
    const { size } = keys;
    for (const key of [...(before.toRelease ?? []), before.licenseKey]) {
      if (key !== undefined && !(await isKeyOf(record, key))) keys.add(key);
    }
    return keys.size > size ? read(await writeRecord({ ...record, toRelease: [...keys] })) : copy;
  };
  const load = async (): Promise<void> => {
    let text: string | undefined;
    try {
      text = (await store.load()) ?? undefined; // localStorage returns null
      lastLoadWorked = true;
    } catch (cause) {
      lastLoadWorked = false;
      problem = new LicenseError('store_failed', 'the license record cannot be loaded', { cause });
      if (held === undefined) state = { kind: 'unusable', reason: 'store_failed' };
      return;
    }
    const found = held !== undefined && held.text === text ? held : await read(text);
    let next = found;
    if (held !== undefined && held !== stored && held !== found) {
      if (!isToReplace(stored, found, held)) next = await withKeysToRelease(held, found);
      else next = stored === undefined ? await withKeysToRelease(found, held) : held;
    }
    stored = found;
    if (next !== held) hold(next);
    if (next !== found) return save(next);
    problem = undefined;
  };
  const replace = async (text: string | undefined): Promise<void> => {
    const copy = await read(text);
    hold(copy);
    // Otherwise only memory changes. The next load that works decides with `isToReplace` whether to save the record.
    if (lastLoadWorked) await save(copy);
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
    /**
     * Reloads, then saves the record that `next` returns; undefined changes nothing. If the store cannot be read, only
     * memory changes.
     */
    update: (next: (state: LicenseState) => LicenseRecord | undefined): Promise<void> =>
      queue(async () => {
        await load();
        const record = next(state);
        if (record === undefined) return;
        await replace(await writeRecord(record));
      }),
    /** Reloads, then removes the record if `isRemoved` agrees; from memory only, if the store cannot be read. */
    clear: (isRemoved: (state: LicenseState) => Promise<boolean>): Promise<void> =>
      queue(async () => {
        await load();
        if (await isRemoved(state)) await replace(undefined);
      }),
  };
}

/** The text of a record, and its state. */
type Copy = { readonly text: string | undefined; readonly state: LicenseState };

/**
 * Whether to replace `found` with `unsaved`, a record in memory that could not be saved. If another process has saved
 * another license since `stored`, keep that one. If it has saved the old license again, replace it with the new one. If
 * no load has worked before, replace `found`.
 */
function isToReplace(stored: Copy | undefined, found: Copy, unsaved: Copy): boolean {
  if (stored === undefined) return unsaved.text !== undefined;
  if (found.text === stored.text) return true;
  const before = recordOf(stored.state);
  return isSameLicense(recordOf(found.state), before) && !isSameLicense(recordOf(unsaved.state), before);
}
