// The store of a client's record, one opaque text.

/** Stores one text, for example in a file or a database row. The client verifies what it loads. */
export type LicenseStore = {
  /** The text saved last; undefined if there is none. */
  load(): Promise<string | undefined>;
  /** Replaces the text atomically. It contains the license key, unless `keepLicenseKey` is false. */
  save(text: string): Promise<void>;
  /** Removes the text, if any. */
  clear(): Promise<void>;
};

/** Keeps the text in memory until the process ends: for tests and ephemeral machines. */
export function createMemoryStore(initial?: string): LicenseStore {
  let kept = initial;
  return {
    load: async () => kept,
    save: async (text) => {
      kept = text;
    },
    clear: async () => {
      kept = undefined;
    },
  };
}
