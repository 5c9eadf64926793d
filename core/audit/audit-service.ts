// AuditService: lists, exports and verifies the audit log, and begins a new chain.
import type { JsonObject } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { ACTOR_KINDS, nameOf } from '../../lib/presentation/enum-names.ts';
import { actorOf } from '../access/caller.ts';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { readTimestamp } from '../timestamp.ts';
import { beginChain } from './begin-chain.ts';
import { beginOf, type ChainOptions, formatHead, parseHead } from './chain.ts';
import { readChainKey } from './chain-key.ts';
import { ignoreChainStopped } from './chain-stopped.ts';
import type { AuditEntry, Facts } from './entities.ts';
import { exportEntries, type LinkedEntry } from './export-entries.ts';
import type { HeadMonitor } from './head-monitor.ts';
import { listEntries } from './list-entries.ts';
import { verifyAuditLog } from './verify-audit-log.ts';
import type { Break } from './walk-chain.ts';

export type AuditServiceOptions = {
  readonly db: Database;
  readonly chain: ChainOptions;
  /** Links all committed entries. */
  readonly link: () => Promise<void>;
  readonly headMonitor: HeadMonitor;
  /** Opens the sealed values of entries. */
  readonly openEntries: (entries: readonly AuditEntry[]) => Promise<AuditEntry[]>;
};

export function createAuditService(options: AuditServiceOptions): ServiceImpl<typeof AuditService> {
  const { db, chain, link, headMonitor, openEntries } = options;
  let isVerifying = false;
  return {
    async listAuditEntries(request) {
      const { since, until } = request;
      const filter = {
        ...request,
        actorKind: nameOf(ACTOR_KINDS, request.actorKind),
        since: since && readTimestamp('since', since),
        until: until && readTimestamp('until', until),
      };
      const { items, nextPageToken } = await listEntries(db, filter, request);
      return { entries: (await openEntries(items)).map(entryToProto), nextPageToken };
    },

    async *exportAuditLog({ afterSeq }) {
      await link().catch(ignoreChainStopped);
      const { beginsAfter } = await readChainKey(db.pool, chain.sealer).catch(withoutKey);
      for await (const entries of exportEntries(db.pool, Number(afterSeq), beginOf({ beginsAfter }))) {
        yield { entries: entries.map(linkedToProto) };
      }
    },

    async verifyAuditLog({ head: expected }, { signal }) {
      // It reads the whole log, and a second verification would slow down everything else.
      if (isVerifying) {
        const message = 'this hub is verifying the audit log already; try again when it is done';
        throw new HubError('verify_busy', message);
      }
      isVerifying = true;
      try {
        const lastSeen = headMonitor.lastSeen();
        // Entries that cannot be linked show in the queue.
        await link().catch(ignoreChainStopped);
        const { head, entries, beginsAfter, queue, broken } = await verifyAuditLog(chain, {
          expected: expected === '' ? undefined : parseHead(expected),
          lastSeen,
          signal,
        });
        return {
          ok: broken === undefined,
          head: formatHead(head),
          entries: BigInt(entries),
          beginsAfter: BigInt(beginsAfter),
          unlinked: BigInt(queue.count),
          ...(queue.since && { unlinkedSince: timestampFromDate(queue.since) }),
          ...(broken && { broken: breakToProto(broken) }),
        };
      } finally {
        isVerifying = false;
      }
    },

    async beginAuditChain({ reason }, context) {
      const head = await beginChain(chain, { reason, lastSeen: headMonitor.lastSeen() }, actorOf(context));
      return { head: formatHead(head) };
    },
  };
}

/** An entry of a list, or of the chain. */
type Entry = Partial<AuditEntry> & Pick<AuditEntry, 'id' | 'at' | 'actor' | 'action' | 'subject' | 'detail'>;

function entryToProto(entry: Entry) {
  const { id, at, actor, action, subject, before, after, detail, requestId } = entry;
  const { actorKind, actorTokenId, actorCertificate } = entry;
  return {
    auditEntryId: formatId('aud', id),
    at: timestampFromDate(at),
    actor,
    action,
    subject,
    ...(before && { before: json(before) }),
    ...(after && { after: json(after) }),
    detail: json(detail),
    requestId: requestId ?? '',
    ...(actorKind && { actorKind: ACTOR_KINDS[actorKind] }),
    actorTokenId: actorTokenId ? formatId('tok', actorTokenId) : '',
    actorCertificateSubject: actorCertificate ?? '',
  };
}

function linkedToProto({ entry, seq, hash, previousHash, linkedAt }: LinkedEntry) {
  return {
    entry: entryToProto({ ...entry, at: new Date(entry.at) }),
    seq: BigInt(seq),
    linkedAt: timestampFromDate(new Date(linkedAt)),
    previousHash,
    hash,
  };
}

function breakToProto({ problem, seq, entryId, detail }: Break) {
  return { problem, ...(seq !== undefined && { seq: BigInt(seq) }), auditEntryId: entryId ?? '', detail };
}

/** The log can be exported without the key. */
function withoutKey(error: unknown): { beginsAfter: number } {
  ignoreChainStopped(error);
  return { beginsAfter: 0 };
}

/** Facts come from a jsonb column. */
const json = (facts: Facts): JsonObject => facts as JsonObject;
