// Values that are created when they are first needed, such as those of large modules.

export type OnDemand<T> = {
  /** Creates the value at the first call, and shares it. After a failure, the next call tries again. */
  get(): Promise<T>;
  /** The value if it exists or is being created. Never rejects. */
  existing(): Promise<T | undefined>;
};

export function onDemand<T>(create: () => Promise<T>): OnDemand<T> {
  let value: Promise<T> | undefined;
  return {
    get() {
      value ??= create().catch((error) => {
        value = undefined;
        throw error;
      });
      return value;
    },
    existing: async () => value?.catch(() => undefined),
  };
}
