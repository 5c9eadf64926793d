// A CPU profile of V8.

/** The inspector's format: https://chromedevtools.github.io/devtools-protocol/v8/Profiler/ */
export type CpuProfile = {
  readonly nodes: readonly ProfileNode[];
  /** The node id of each sample. */
  readonly samples: readonly number[];
  /** Microseconds of the monotonic clock, as `process.hrtime` has it. */
  readonly startTime: number;
  /** Microseconds from one sample to the next. */
  readonly timeDeltas: readonly number[];
};

export type ProfileNode = {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    /** From 0, like the column. */
    readonly lineNumber: number;
    readonly columnNumber: number;
  };
  readonly children?: readonly number[];
};
