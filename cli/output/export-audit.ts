// Writes the audit log as JSON lines, as it arrives.
import type { ExportAuditLogResponse } from '../../gen/hub/access/v1/audit_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import { NO_DEADLINE } from '../connect/call-options.ts';
import { type LinkedEntryView, linkedEntryView } from '../views/operations/audit-entry.ts';
import { exportLines, JSON_LINES } from './export-to-file.ts';

export type ExportOptions = {
  /** Exports only the entries after the one with this number. */
  readonly after?: bigint;
  readonly out?: string;
  readonly force?: true;
};

export async function exportAudit(
  commandContext: CommandContext,
  { after = 0n, ...file }: ExportOptions,
): Promise<void> {
  const call = new AbortController();
  const found = commandContext.hub.audit.exportAuditLog(
    { afterSeq: after },
    { ...NO_DEADLINE, signal: call.signal },
  );
  try {
    await exportLines(commandContext, file, pages(found), JSON_LINES);
  } finally {
    call.abort(); // a client stream has no return(); aborting closes it if it is not read to its end
  }
}

async function* pages(
  replies: AsyncIterable<ExportAuditLogResponse>,
): AsyncGenerator<readonly LinkedEntryView[]> {
  for await (const { entries } of replies) yield entries.map(linkedEntryView);
}
