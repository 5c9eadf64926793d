// Writes the audit log as JSON lines, as it arrives.
import type { ExportAuditLogResponse } from '../gen/hub/access/v1/audit_service_pb.ts';
import { NO_DEADLINE } from './call-options.ts';
import { exportToFile, type WriteEntries } from './export-to-file.ts';
import { printableJson } from './printable.ts';
import type { Tools } from './tools.ts';
import { linkedEntryView } from './views/audit-entry.ts';

export type ExportOptions = {
  /** Only what follows the link with this number. */
  readonly after?: bigint;
  readonly out?: string;
  readonly force?: true;
};

export async function exportAudit(
  tools: Tools,
  { after = 0n, out: path, force }: ExportOptions,
): Promise<void> {
  const { audit } = await tools.hub('audit');
  const call = new AbortController();
  const found = audit.exportAuditLog({ afterSeq: after }, { ...NO_DEADLINE, signal: call.signal });
  try {
    if (path === undefined) await writeAll(found, tools.out.text);
    else await exportToFile(tools, { path, force: force === true }, found, writeAll);
  } finally {
    call.abort(); // the stream of a client has no return(): if it is not read to its end, only this closes it
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
