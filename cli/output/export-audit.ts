// Writes the audit log as JSON lines, as it arrives.
import type { ExportAuditLogResponse } from '../../gen/hub/access/v1/audit_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import { NO_DEADLINE } from '../connect/call-options.ts';
import { linkedEntryView } from '../views/operations/audit-entry.ts';
import { exportToFile, type WriteEntries } from './export-to-file.ts';
import { printableJson } from './printable.ts';

export type ExportOptions = {
  /** Exports only the entries after the one with this number. */
  readonly after?: bigint;
  readonly out?: string;
  readonly force?: true;
};

export async function exportAudit(
  commandContext: CommandContext,
  { after = 0n, out: path, force }: ExportOptions,
): Promise<void> {
  const call = new AbortController();
  const found = commandContext.hub.audit.exportAuditLog(
    { afterSeq: after },
    { ...NO_DEADLINE, signal: call.signal },
  );
  try {
    if (path === undefined) await writeAll(found, commandContext.out.text);
    else await exportToFile(commandContext, { path, force: force === true }, found, writeAll);
  } finally {
    call.abort(); // a client stream has no return(); aborting closes it if it is not read to its end
  }
}

async function writeAll(
  replies: AsyncIterable<ExportAuditLogResponse>,
  write: WriteEntries,
): Promise<number> {
  let count = 0;
  for await (const { entries } of replies) {
    count += entries.length;
    await write(entries.map((entry) => `${printableJson(linkedEntryView(entry))}\n`).join(''), count);
  }
  return count;
}
