// A file, pipe or standard output that receives the results of a command.

export type ResultsFile = {
  /** True if standard output goes to the same file: print nothing else there. */
  readonly isStandardOutput: boolean;
  /** Appends a text. Resolves once the operating system has all of it, or the disk if it is `secret`. */
  write(text: string): Promise<void>;
  /** Closes the file. Removes a created file that contains only the `head`. */
  close(): Promise<void>;
};
