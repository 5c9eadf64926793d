// hubctl audit: the audit log and the verification of its chain.
import { type Command, InvalidArgumentError } from 'commander';
import { ACTOR_KINDS } from '../../../lib/presentation/enum-names.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { NO_DEADLINE, readPages } from '../../connect/calls.ts';
import { CliError, EXIT } from '../../errors/failure.ts';
import { exportLines, itemsOrExport, JSON_LINES } from '../../output/export-to-file.ts';
import { addWatch, type ListingOptions, printList } from '../../output/watch-list.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { checkPeriod, timestampOf } from '../../parse/parse-time.ts';
import { addOutFile, addPeriod, choiceOption, maxOption, yesOption } from '../../parse/shared-options.ts';
import {
  type ActorKindName,
  AUDIT_CHAIN,
  AUDIT_CHAIN_FIELDS,
  AUDIT_COLUMNS,
  AUDIT_ENTRY,
  auditChainView,
  auditEntryView,
  LINKED_AUDIT_ENTRY,
  linkedEntryView,
} from '../../views/operations/audit-entry.ts';
import * as json from '../../views/schema.ts';

const BEGUN = json.view('BegunAuditChain', 'hub.access.v1.BeginAuditChainResponse', { head: json.text() });

type ListOptions = ListingOptions & {
  subject?: string;
  actor?: string;
  actorKind?: ActorKindName;
  tokenId?: string;
  action?: string;
  from?: Date;
  to?: Date;
};

type ExportOptions = { readonly after?: bigint; readonly out?: string; readonly force?: true };

export const registerAudit = nounOf(
  'audit',
  'The log of all changes with the values before and after, and the verification that it is complete.',
  [addListVerb, addVerifyVerb, addBeginChainVerb, addExportVerb],
);

function addListVerb(audit: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  const listing = addVerb(audit, 'list', {
    summary: 'list changes',
    description: 'Lists changes, newest first. Filters combine with AND.',
    examples: [
      'hubctl audit list --action license.revoke --from 2026-01-01',
      'hubctl audit list --token-id tok_01k8e7qk3vf2tb5s0w9m4x6ydz',
    ],
    prints: { list: AUDIT_ENTRY },
  })
    .option('--subject <id>', 'only changes of this object')
    .option('--actor <name>', 'only changes by actors with this name, which several tokens may share')
    .addOption(choiceOption('--actor-kind <kind>', 'only changes by actors of this kind', ACTOR_KINDS))
    .option('--token-id <id>', 'only changes made with this token, tok_…')
    .option('--action <action>', 'only changes of this object kind, license.revoke for example');
  addWatch(addPeriod(listing, 'those').addOption(maxOption())).action(
    async ({ subject, actor, actorKind, tokenId, action, from, to, ...options }: ListOptions) => {
      checkPeriod(from, to);
      const wanted = omitUndefined({
        subject,
        actor,
        actorKind: actorKind && ACTOR_KINDS[actorKind],
        actorTokenId: tokenId,
        action,
        since: from && timestampOf(from),
        until: to && timestampOf(to),
      });
      const pages = readPages(hub.audit.listAuditEntries, wanted, 'entries', auditEntryView);
      await printList(commandContext, { pages, columns: AUDIT_COLUMNS, none: 'No change matches.' }, options);
    },
  );
}

function addVerifyVerb(audit: Command, { hub, out }: CommandContext): void {
  addVerb(audit, 'verify', {
    summary: 'verify that the log is complete and unaltered',
    description:
      'Verifies the chain over the whole log and reports the first row that is missing, altered or out of order. Exits 1 if there is one.',
    notes: [
      'The hub also compares the head in its own file. Store the printed head outside of the hub and pass it to a later run: this also detects a change by somebody who had access to both the database and the machine of the hub.',
    ],
    examples: [
      'hubctl audit verify --head 1042:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',
    ],
    prints: { document: AUDIT_CHAIN },
  })
    .option('--head <seq:hash>', 'a head from an earlier run, which the chain must still contain')
    .action(async ({ head = '' }: { head?: string }) => {
      const chain = auditChainView(await hub.audit.verifyAuditLog({ head }, NO_DEADLINE));
      await out.record(chain, AUDIT_CHAIN_FIELDS);
      const { broken } = chain;
      if (broken === undefined) return;
      const where = [broken.seq !== undefined && `link ${broken.seq}`, broken.auditEntryId].filter(Boolean);
      throw new CliError(
        'audit_chain_broken',
        EXIT.failed,
        `The audit log is not intact (${broken.problem}${where.length > 0 ? ` at ${where.join(', ')}` : ''}): ${broken.detail}.`,
      );
    });
}

function addBeginChainVerb(audit: Command, { hub, out, requireYes }: CommandContext): void {
  addVerb(audit, 'begin-chain', {
    summary: 'begin a new chain when the old one cannot continue',
    description:
      'Begins a new chain after the key or the head of the chain was lost, so that hubs cannot link entries. The hub refuses it while the chain is usable.',
    notes: [
      'First find out who removed them: `audit verify` names the missing part. If you can, restore it from a backup: hubs then link again by themselves. Otherwise save the log with `audit export`: the new chain does not verify entries that were linked in the old one. The log records who began the new chain, and the reason.',
    ],
    examples: ['hubctl audit begin-chain --reason "audit_key was lost with the old server" --yes'],
    prints: { document: BEGUN },
  })
    .requiredOption('--reason <text>', 'reason, kept in the audit log')
    .addOption(yesOption())
    .action(async ({ reason, yes }: { reason: string; yes?: true }) => {
      const question = () => 'Begin a new chain? Entries linked in the old chain can no longer be verified.';
      await requireYes({ yes, verb: 'begin a chain', question, otherwise: 'No chain was begun.' });
      const { head } = await hub.audit.beginAuditChain({ reason });
      await out.record({ head }, [{ title: 'Head', cell: (item) => item.head }]);
    });
}

function addExportVerb(audit: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  const exporting = addVerb(audit, 'export', {
    summary: 'export the whole log to a file',
    description: 'Exports the log in the order of its chain to a file or to standard output, oldest first.',
    notes: [
      'JSON lines: one object per line, as `audit list` prints them, with the number and the hashes of its link. Repeated exports of the same entries are identical byte for byte.',
    ],
    examples: ['hubctl audit export --after 1042 --out audit.jsonl'],
    prints: { lines: itemsOrExport(LINKED_AUDIT_ENTRY, 'the entries') },
  }).option('--after <seq>', 'only entries after the link with this number', parseSeq);
  addOutFile(exporting, 'the log').action(async ({ after = 0n, ...file }: ExportOptions) => {
    const call = new AbortController();
    async function* pages() {
      const options = { ...NO_DEADLINE, signal: call.signal };
      const replies = hub.audit.exportAuditLog({ afterSeq: after }, options);
      for await (const { entries } of replies) yield entries.map(linkedEntryView);
    }
    try {
      await exportLines(commandContext, file, pages(), JSON_LINES);
    } finally {
      call.abort(); // a client stream has no return(); aborting closes it if it is not read to its end
    }
  });
}

/** The number of a link, or 0. */
function parseSeq(text: string): bigint {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give a whole number, 0 or more.');
  return BigInt(text);
}
