// hubctl audit: who changed what, and whether the record of it is whole.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ACTOR_KINDS } from '../../story/words.ts';
import { checkPeriod, timestampOf } from '../calendar.ts';
import { NO_DEADLINE } from '../call-options.ts';
import { requireYes } from '../confirm.ts';
import { type ExportOptions, exportAudit } from '../export-audit.ts';
import { EXPORTED } from '../export-to-file.ts';
import { CliError, EXIT } from '../failure.ts';
import { addNoun, addVerb } from '../manual.ts';
import { pages } from '../pages.ts';
import { either, list, object, text } from '../shapes.ts';
import { addOutFile, addPeriod, maxOption, yesOption } from '../shared-options.ts';
import type { Tools } from '../tools.ts';
import {
  type ActorKindName,
  AUDIT_CHAIN,
  AUDIT_CHAIN_FIELDS,
  AUDIT_COLUMNS,
  AUDIT_ENTRY,
  type AuditEntryView,
  auditChainView,
  auditEntryView,
  LINKED_AUDIT_ENTRY,
} from '../views/audit-entry.ts';
import { addWatch, type ListingOptions, printList } from '../watch-list.ts';

const BEGUN = object(
  'BegunAuditChain',
  { head: text() },
  { message: 'hub.access.v1.BeginAuditChainResponse' },
);

type ListOptions = ListingOptions & {
  subject?: string;
  actor?: string;
  actorKind?: ActorKindName;
  tokenId?: string;
  action?: string;
  from?: Date;
  to?: Date;
};

export function registerAudit(program: Command, tools: Tools): void {
  const { hub, out } = tools;
  const audit = addNoun(program, 'audit', {
    group: 'Administration:',
    summary: 'who changed what',
    description:
      'The log of all changes, each with what was before and after, and the proof that it is whole.',
  });

  const listing = addVerb(audit, 'list', {
    summary: 'list changes',
    description: 'Lists changes, newest first; what is given has to match all at once.',
    examples: [
      'hubctl audit list --action license.revoke --from 2026-01-01',
      'hubctl audit list --token-id tok_01k8e7qk3vf2tb5s0w9m4x6ydz',
    ],
    prints: { document: list(AUDIT_ENTRY) },
  })
    .option('--subject <id>', 'only changes of this')
    .option('--actor <name>', 'only changes by actors of this name; several tokens may have it')
    .addOption(
      new Option('--actor-kind <kind>', 'only changes by this kind of actor').choices(
        Object.keys(ACTOR_KINDS),
      ),
    )
    .option('--token-id <id>', 'only changes by callers with this token, tok_…')
    .option('--action <action>', 'only changes of this kind, license.revoke for example');
  addWatch(addPeriod(listing, 'those').addOption(maxOption())).action(
    async ({ subject, actor, actorKind, tokenId, action, from, to, ...options }: ListOptions) => {
      checkPeriod(from, to);
      const { audit: client } = await hub('audit');
      const wanted = {
        ...(subject !== undefined && { subject }),
        ...(actor !== undefined && { actor }),
        ...(actorKind !== undefined && { actorKind: ACTOR_KINDS[actorKind] }),
        ...(tokenId !== undefined && { actorTokenId: tokenId }),
        ...(action !== undefined && { action }),
        ...(from && { since: timestampOf(from) }),
        ...(to && { until: timestampOf(to) }),
      };
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { entries, nextPageToken } = await client.listAuditEntries({ ...wanted, ...page });
        return { items: entries.map(auditEntryView), next: nextPageToken };
      };
      const listed = {
        pages: (max: number | undefined) => pages(fetchPage, max),
        columns: AUDIT_COLUMNS,
        id: (item: AuditEntryView) => item.auditEntryId,
        newestFirst: true,
        none: 'No change matches.',
      };
      await printList(tools, listed, options);
    },
  );

  addVerb(audit, 'verify', {
    summary: 'find out whether the log is whole',
    description:
      'Walks the chain over the whole log, and names the first row that is missing, altered or out of place. Exits 1 if there is one.',
    notes: [
      'The hub asks for the head that it noted itself as well. Note the head that this prints outside of the hub and give it to a later run: that tells also where somebody has had both the database and the machine of the hub.',
    ],
    examples: [
      'hubctl audit verify --head 1042:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b',
    ],
    prints: { document: AUDIT_CHAIN },
  })
    .option('--head <seq:hash>', 'a head that was noted before, and must still be there')
    .action(async ({ head = '' }: { head?: string }) => {
      const { audit: client } = await hub('audit');
      const chain = auditChainView(await client.verifyAuditLog({ head }, NO_DEADLINE));
      await out.record(chain, AUDIT_CHAIN_FIELDS);
      const { broken } = chain;
      if (broken === undefined) return;
      const where = [broken.seq !== undefined && `link ${broken.seq}`, broken.auditEntryId].filter(Boolean);
      throw new CliError(
        'audit_chain_broken',
        EXIT.failed,
        `The audit log is not whole (${broken.problem}${where.length > 0 ? ` at ${where.join(', ')}` : ''}): ${broken.detail}.`,
      );
    });

  addVerb(audit, 'begin-chain', {
    summary: 'begin a new chain where the old one cannot go on',
    description:
      'Begins a new chain where the key or the head of the chain is gone, so that hubs cannot link entries. The hub refuses while they can.',
    notes: [
      'Find out first who removed them: `audit verify` says what is gone. Bring it back from a backup if you can: then hubs link again by themselves. Otherwise keep what is there with `audit export`: the new chain does not prove entries that have a link of the old one. The log records who began it, and why.',
    ],
    examples: ['hubctl audit begin-chain --reason "audit_key was lost with the old server" --yes'],
    prints: { document: BEGUN },
  })
    .requiredOption('--reason <text>', 'why, for the log')
    .addOption(yesOption())
    .action(async ({ reason, yes }: { reason: string; yes?: true }) => {
      const question = () => 'Begin a new chain? Entries that have a link are not verified any more.';
      await requireYes(tools, { yes, verb: 'begin a chain', question, otherwise: 'No chain was begun.' });
      const { audit: client } = await hub('audit');
      const { head } = await client.beginAuditChain({ reason });
      await out.record({ head }, [{ title: 'Head', cell: (item) => item.head }]);
    });

  const exporting = addVerb(audit, 'export', {
    summary: 'write the whole log to a file',
    description: 'Writes the log along its chain to a file or to standard output, oldest first.',
    notes: [
      'JSON lines: an object a line, as `audit list` prints them, with the number and the hashes of its link. The same part of the log is the same text whenever it is written.',
    ],
    examples: ['hubctl audit export --after 1042 --out audit.jsonl'],
    prints: {
      lines: either([LINKED_AUDIT_ENTRY, EXPORTED], 'the entries; with --out one object that names the file'),
    },
  }).option('--after <seq>', 'only what follows the link with this number', parseSeq);
  addOutFile(exporting, 'the log').action((options: ExportOptions) => exportAudit(tools, options));
}

/** The number of a link, or 0. */
function parseSeq(text: string): bigint {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Give a whole number from 0.');
  return BigInt(text);
}
