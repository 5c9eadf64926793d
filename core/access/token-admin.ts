// Administration of service tokens: create, list, revoke.
import { LockMode, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import { recordChange } from '../audit/record.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import { formatId, newUuid } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { findById } from '../storage/sql/find-by-id.ts';
import { findPage, type Page, type PageRequest } from '../storage/sql/page.ts';
import type { Actor } from './caller.ts';
import { type RoleName, type Scope, type ServiceToken, ServiceTokenSchema } from './entities.ts';
import type { FindOwner } from './scope.ts';
import { hashToken, newServiceToken } from './token-format.ts';

export type NewToken = {
  /** If empty, the name of the role. */
  readonly name: string;
  readonly role: RoleName;
  /** Without apps and slots, the token is not limited. */
  readonly scope: Scope;
  readonly expiresAt: Date | undefined;
  /** The caller presents a client certificate with this subject instead of a token. */
  readonly certificateSubject: string | undefined;
};

/** The names that the audit log uses for actors of the hub itself, and the ids of tokens. */
const RESERVED_NAME = /^(hub|hubctl.*|localadmin|settlement|sweep|unknown|tok[0-9a-z]{26})$/;

export type TokensOptions = { readonly db: Database; readonly clock: Clock; readonly findOwner: FindOwner };

export function createTokens({ db, clock, findOwner }: TokensOptions) {
  /** @throws HubError `app_unknown`, `slot_unknown` */
  const checkScope = async ({ apps, slots }: Scope): Promise<void> => {
    for (const slug of apps) {
      if (await findOwner.app(slug, [])) continue;
      throw new HubError('app_unknown', `there is no app "${slug}"`, { field: 'apps' });
    }
    for (const name of slots) {
      if (await findOwner.slot(name, [])) continue;
      throw new HubError('slot_unknown', `there is no slot "${name}"`, { field: 'slots' });
    }
  };

  return {
    /**
     * `token` is undefined if the caller uses a certificate.
     * @throws HubError `token_name_reserved`, `app_unknown`, `slot_unknown`, `expiry_invalid`,
     *   `certificate_subject_taken`
     */
    async create(
      newToken: NewToken,
      actor: Actor,
    ): Promise<{ serviceToken: ServiceToken; token: string | undefined }> {
      const { name, role, scope, expiresAt, certificateSubject } = newToken;
      const now = clock();
      if (isReservedName(name)) {
        const message = `"${name}" is reserved for the hub in the audit log; choose another`;
        throw new HubError('token_name_reserved', message, { field: 'name' });
      }
      if (expiresAt && expiresAt <= now) {
        throw new HubError('expiry_invalid', 'must be in the future', { field: 'expiresAt' });
      }
      await checkScope(scope);
      const isLimited = scope.apps.length + scope.slots.length > 0;
      const id = newUuid();
      const token = certificateSubject === undefined ? newServiceToken(id) : undefined;
      try {
        return await db.em().transactional((em) => {
          const serviceToken = em.create(ServiceTokenSchema, {
            id,
            name: name || role,
            role,
            scope: isLimited ? scope : null,
            tokenHash: token === undefined ? null : hashToken(token),
            certificateSubject: certificateSubject ?? null,
            createdAt: now,
            expiresAt: expiresAt ?? null,
          });
          recordChange(em, actor, now, {
            action: 'token.create',
            subject: formatId('tok', id),
            before: null,
            after: describe(serviceToken),
          });
          return Promise.resolve({ serviceToken, token });
        });
      } catch (error) {
        if (!(error instanceof UniqueConstraintViolationException)) throw error;
        const message = 'another token is registered for this certificate; revoke it first';
        throw new HubError('certificate_subject_taken', message, { field: 'certificateSubject' });
      }
    },

    /** @throws HubError `page_token_invalid` */
    list(includeEnded: boolean, request: PageRequest): Promise<Page<ServiceToken>> {
      const where = includeEnded ? [] : [live(clock())];
      return findPage({ em: db.em(), entity: ServiceTokenSchema, prefix: 'tok', where }, request);
    },

    /** Revoking a revoked token changes nothing. @throws HubError `token_unknown`, `last_admin` */
    revoke(tokenId: string, actor: Actor): Promise<ServiceToken> {
      return db.em().transactional(async (em) => {
        const now = clock();
        // Locks all admin tokens in one order: two admins that revoke each other must not both succeed.
        const admins = await em.find(
          ServiceTokenSchema,
          { role: 'admin', scope: null, ...live(now) },
          { orderBy: { id: 'asc' }, lockMode: LockMode.PESSIMISTIC_WRITE },
        );
        const lockMode = LockMode.PESSIMISTIC_WRITE;
        const found = await findById(em, ServiceTokenSchema, 'tok', tokenId, { lockMode });
        if (found.revokedAt != null) return found;
        if (admins.length === 1 && admins[0] === found) {
          const message = 'this is the last admin token; create another one first';
          throw new HubError('last_admin', message, { field: 'tokenId' });
        }
        found.revokedAt = now;
        recordChange(em, actor, now, {
          action: 'token.revoke',
          subject: tokenId,
          before: { revoked: false },
          after: { revoked: true },
          detail: describe(found),
        });
        return found;
      });
    },
  };
}

function live(now: Date) {
  return { revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] };
}

function describe({ name, role, scope, certificateSubject, expiresAt }: ServiceToken) {
  return {
    name,
    role,
    ...(scope && { scope }),
    ...(certificateSubject && { certificateSubject }),
    ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
  };
}

/** Compares only letters and digits, and ignores case, width and accents. */
function isReservedName(name: string): boolean {
  const plain = name
    .normalize('NFKD')
    .replace(/[^\p{Letter}\p{Number}]/gu, '')
    .toLowerCase();
  return RESERVED_NAME.test(plain);
}
