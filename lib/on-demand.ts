// Values that are created when they are first needed, such as those of large modules.

export type OnDemand<T> = {
  /** Undefined until it is created. */
  readonly value: T | undefined;
  /** Creates the value at the first call, and shares it. After a failure, the next call tries again. */
  get(): Promise<T>;
  /** The value if it exists or is being created. Never rejects. */
  existing(): Promise<T | undefined>;
};

export function onDemand<T>(create: () => Promise<T>): OnDemand<T> {
  let creating: Promise<T> | undefined;
  const own = {
    value: undefined as T | undefined,
    get(): Promise<T> {
      creating ??= create().then(
        (value) => {
          own.value = value;
          return value;
        },
        (error) => {
          creating = undefined;
          throw error;
        },
      );
      return creating;
    },
    existing: async () => creating?.catch(() => undefined),
  };
  return own;
}
