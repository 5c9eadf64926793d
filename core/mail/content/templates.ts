// The templates of apps: the one that a mail uses, and their administration.
import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import { findApp, lockApp } from '../../license/admin/find-app.ts';
import type { Database } from '../../storage/database.ts';
import { type MailKindName, type MailTemplate, MailTemplateSchema } from '../entities.ts';
import { BUILT_IN } from './built-in-templates.ts';
import { checkTemplate } from './check-template.ts';
import { DEFAULT_LANGUAGE, fallbacksOf, parseLanguage } from './language.ts';
import type { TemplateTexts } from './placeholder-values.ts';

/** A template of an app, or the built-in one. */
export type EffectiveTemplate = TemplateTexts & {
  readonly kind: MailKindName;
  readonly language: string;
  /** Null for the built-in template. */
  readonly updatedAt: Date | null;
};

export type TemplateRef = {
  /** Slug. */
  readonly app: string;
  readonly kind: MailKindName;
  readonly language: string;
};

const MAX_TEMPLATES = 200;

export function createTemplates({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  return {
    /** @throws HubError `app_unknown`, `mail_template_invalid`, `language_invalid`, `too_many` */
    set(ref: TemplateRef, texts: TemplateTexts, actor: Actor): Promise<[EffectiveTemplate, boolean]> {
      const language = parseLanguage(ref.language);
      checkTemplate(ref.kind, texts);
      return db.em().transactional(async (em) => {
        const app = await lockApp(em, ref.app);
        const { kind } = ref;
        const found = await em.findOne(MailTemplateSchema, { app, kind, language });
        if (found !== null && isDeepStrictEqual(textsOf(found), texts)) return [found, false];
        if (found === null && (await em.count(MailTemplateSchema, { app })) >= MAX_TEMPLATES) {
          throw new HubError('too_many', `an app has at most ${MAX_TEMPLATES} templates: remove some first`);
        }
        const updatedAt = clock();
        recordChange(em, actor, updatedAt, {
          action: 'mail_template.set',
          subject: formatId('app', app.id),
          before: found && factsOf(found),
          after: factsOf(texts),
          detail: { kind, language },
        });
        if (found !== null) return [Object.assign(found, texts, { updatedAt }), true];
        return [em.create(MailTemplateSchema, { app, kind, language, ...texts, updatedAt }), true];
      });
    },

    /** The one that mails of a language use. @throws HubError `app_unknown`, `language_invalid` */
    async get({ app, kind, language }: TemplateRef): Promise<EffectiveTemplate> {
      const em = db.em();
      const { id } = await findApp(em, app);
      return findTemplate(em, id, { kind, language: parseLanguage(language) });
    },

    /** By kind and language. @throws HubError `app_unknown` */
    async list(app: string): Promise<MailTemplate[]> {
      const em = db.em();
      const found = await findApp(em, app);
      // mail_template_pkey
      return em.find(
        MailTemplateSchema,
        { app: found },
        { orderBy: { kind: 'asc', language: 'asc' }, limit: MAX_TEMPLATES },
      );
    },

    /** @throws HubError `app_unknown`, `mail_template_unknown`, `language_invalid` */
    remove({ app, kind, language: tag }: TemplateRef, actor: Actor): Promise<void> {
      const language = parseLanguage(tag);
      return db.em().transactional(async (em) => {
        const found = await em.findOne(MailTemplateSchema, { app: await lockApp(em, app), kind, language });
        if (found === null) {
          const message = `the app "${app}" has no such template in the language "${language}"`;
          throw new HubError('mail_template_unknown', message, { field: 'language' });
        }
        em.remove(found);
        recordChange(em, actor, clock(), {
          action: 'mail_template.remove',
          subject: formatId('app', found.app.id),
          before: factsOf(found),
          after: null,
          detail: { kind, language },
        });
      });
    },
  };
}

/** @param appId UUID. @param language an invalid tag means English */
export async function findTemplate(
  em: EntityManager,
  appId: string,
  { kind, language }: { readonly kind: MailKindName; readonly language: string },
): Promise<EffectiveTemplate> {
  const languages = fallbacksOf(language);
  // mail_template_pkey
  const found = await em.find(MailTemplateSchema, { app: appId, kind, language: { $in: [...languages] } });
  const best = languages.flatMap((each) => found.find((template) => template.language === each) ?? [])[0];
  return best ?? { ...BUILT_IN[kind], kind, language: DEFAULT_LANGUAGE, updatedAt: null };
}

function textsOf({ subject, text, html }: TemplateTexts): TemplateTexts {
  return { subject, text, html };
}

/** The bodies are too long for the audit log. */
function factsOf({ subject, text, html }: TemplateTexts) {
  return { subject, textCharacters: text.length, htmlCharacters: html.length };
}
