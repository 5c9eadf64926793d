// The tables of mails and their templates.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { AppSchema } from '../license/entities.ts';
import { OrderSchema } from '../order/entities.ts';
import { partial } from '../storage/schema/partial-index.ts';

export const MAIL_STATES = ['queued', 'sent', 'failed'] as const;
export type MailStateName = (typeof MAIL_STATES)[number];

export const MAIL_KINDS = ['license', 'renewal', 'seats'] as const;
/** What a mail is about; the same as the kind of the grant. */
export type MailKindName = (typeof MAIL_KINDS)[number];

/** A mail about an order. It contains no address, name, key or content. */
export const MailSchema = defineEntity({
  name: 'Mail',
  tableName: 'mail',
  properties: {
    id: p.uuid().primary(),
    order: () => p.oneToOne(OrderSchema).owner().unique('mail_order_id_key').deleteRule('restrict'),
    app: () => p.manyToOne(AppSchema).deleteRule('restrict'),
    kind: p.enum(MAIL_KINDS),
    /** BCP 47 tag of the session; empty for the default. */
    language: p.text(),
    state: p.enum(MAIL_STATES),
    attempts: p.integer().default(0),
    /** During an attempt, when its claim ends. Null unless queued. */
    nextAttemptAt: p.datetime(3).nullable(),
    lastAttemptAt: p.datetime(3).nullable(),
    problem: p.text().default(''),
    smtpResponse: p.text().default(''),
    /** Without angle brackets. */
    messageId: p.text(),
    createdAt: p.datetime(3),
    sentAt: p.datetime(3).nullable(),
  },
  indexes: [
    { name: 'mail_app_idx', properties: ['app', 'id'] },
    partial('mail_due_idx', ['nextAttemptAt'], `state = 'queued'`),
    partial('mail_queued_idx', ['id'], `state = 'queued'`),
    partial('mail_failed_idx', ['lastAttemptAt'], `state = 'failed'`),
    partial('mail_failed_id_idx', ['id'], `state = 'failed'`),
  ],
});
export type Mail = InferEntity<typeof MailSchema>;

export const MailTemplateSchema = defineEntity({
  name: 'MailTemplate',
  tableName: 'mail_template',
  properties: {
    app: () => p.manyToOne(AppSchema).primary().deleteRule('restrict'),
    kind: p.enum(MAIL_KINDS).primary(),
    /** BCP 47 tag in its canonical form. */
    language: p.text().primary(),
    subject: p.text(),
    text: p.text(),
    /** Empty for mails of plain text only. */
    html: p.text(),
    updatedAt: p.datetime(3),
  },
});
export type MailTemplate = InferEntity<typeof MailTemplateSchema>;

export const mailEntities = [MailSchema, MailTemplateSchema];
