// AuditService: the audit log, translated from the domain.

import type { JsonObject } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import { readMoment } from '../moment.ts';
import type { Database } from '../storage/database.ts';
import { actorKindName, actorKindToProto } from './actor-kinds.ts';
import { beginChain } from './audit-begin.ts';
import { beginOf, formatHead, parseHead } from './audit-chain.ts';
import { ignoreStopped } from './audit-chain-stopped.ts';
import type { ChainOptions } from './audit-chainer.ts';
import type { ActorKind, Facts } from './audit-entities.ts';
import { exportEntries, type LinkedEntry, listEntries } from './audit-entries.ts';
import { readChainKey } from './audit-key.ts';
import { type Break, verifyAuditLog } from './audit-verify.ts';
import { actorOf } from './caller.ts';
import type { HeadKeeper } from './head-keeper.ts';

export type AuditServiceOptions = {
  readonly db: Database;
  readonly chain: ChainOptions;
  /** Links everything that is committed. */
  readonly link: () => Promise<void>;
  readonly headKeeper: HeadKeeper;
};

export function createAuditService(options: AuditServiceOptions): ServiceImpl<typeof AuditService> {
  const { db, chain, link, headKeeper } = options;
  let isVerifying = false;
  return {
    async listAuditEntries(request) {
      const { subject, actor, actorTokenId, actorKind, action, since, until, pageSize, pageToken } = request;
      const filter = {
        subject,
        actor,
        actorTokenId,
        actorKind: actorKindName(actorKind),
        action,
        since: since && readMoment('since', since),
        until: until && readMoment('until', until),
      };
      const { items, nextPageToken } = await listEntries(db, filter, { pageSize, pageToken });
      return { entries: items.map(entryToProto), nextPageToken };
    },

    async *exportAuditLog({ afterSeq }) {
      await link().catch(ignoreStopped);
      const { beginsAfter } = await readChainKey(db.pool, chain.sealer).catch(withoutKey);
      for await (const entries of exportEntries(db.pool, Number(afterSeq), beginOf({ beginsAfter }))) {
        yield { entries: entries.map(linkedToProto) };
      }
    },

    async verifyAuditLog({ head: noted }, { signal }) {
      // It reads all there is: a second one would only take from the first, and both from everybody else.
      if (isVerifying) {
        throw new HubError(
          'verify_busy',
          'this hub is verifying the audit log already; try again when it is done',
        );
      }
      isVerifying = true;
      try {
        const own = headKeeper.noted();
        const asked = noted === '' ? undefined : parseHead(noted);
        // What cannot be linked is told by the count of what waits.
        await link().catch(ignoreStopped);
        const { head, entries, beginsAfter, waiting, broken } = await verifyAuditLog(chain, {
          asked,
          own,
          signal,
        });
        return {
          ok: broken === undefined,
          head: formatHead(head),
          entries: BigInt(entries),
          beginsAfter: BigInt(beginsAfter),
          unlinked: BigInt(waiting.count),
          ...(waiting.since && { unlinkedSince: timestampFromDate(waiting.since) }),
          ...(broken && { broken: breakToProto(broken) }),
        };
      } finally {
        isVerifying = false;
      }
    },

    async beginAuditChain({ reason }, context) {
      const head = await beginChain(chain, { reason, noted: headKeeper.noted() }, actorOf(context));
      return { head: formatHead(head) };
    },
  };
}

type Entry = {
  readonly id: string;
  readonly at: Date;
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly before?: Facts | null | undefined;
  readonly after?: Facts | null | undefined;
  readonly detail: Facts;
  readonly requestId?: string | null | undefined;
  readonly actorKind?: ActorKind | null | undefined;
  readonly actorTokenId?: string | null | undefined;
  readonly actorCertificate?: string | null | undefined;
};

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
    ...(actorKind && { actorKind: actorKindToProto(actorKind) }),
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
  return {
    problem,
    ...(seq !== undefined && { seq: BigInt(seq) }),
    auditEntryId: entryId ?? '',
    detail,
  };
}

/** The log can be exported all the same. */
function withoutKey(error: unknown): { beginsAfter: number } {
  ignoreStopped(error);
  return { beginsAfter: 0 };
}

/** What was read from a jsonb column is JSON. */
const json = (facts: Facts): JsonObject => facts as JsonObject;
