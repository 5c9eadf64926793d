// Reads the hub's log while the hub writes it, and finds signs of a defect and secrets.
import type { Canaries } from '../support/hub/canaries.ts';
import type { HubProcess } from '../support/hub/hub-process.ts';

const ERROR = 50;

export type LogReader = {
  /** The errors in the log since the last call. */
  trouble(): string | undefined;
};

export function createLogReader({ lines, complaints }: HubProcess, secrets: Canaries): LogReader {
  let [read, heard] = [lines.length, complaints().length];
  return {
    trouble() {
      const fresh = lines.slice(read);
      const said = complaints().slice(heard);
      [read, heard] = [lines.length, heard + said.length];
      if (said !== '') return `the hub wrote to standard error: ${said}`;
      for (const line of fresh) {
        if (secrets.found(line).length > 0) return 'a log line shows a secret';
        if (isDefect(line)) return `the hub logged ${line}`;
      }
      return undefined;
    },
  };
}

/** An error entry is a defect, except for a 503 when a provider or the database is unavailable. */
function isDefect(line: string): boolean {
  const { level, status } = JSON.parse(line);
  return level >= ERROR && status !== 503;
}
