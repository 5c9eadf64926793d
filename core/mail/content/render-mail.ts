// Renders the subject and the bodies of a mail.
import mustache from 'mustache';
import type { Content, TemplateTexts, Values } from './placeholder-values.ts';

const MAX_SUBJECT = 200;

/** @param template one that `checkTemplate` accepts */
export function render(template: TemplateTexts, values: Values): Content {
  const plain = (text: string): string => mustache.render(text, values, undefined, { escape: String });
  const subject = plain(template.subject)
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return {
    subject: [...subject].slice(0, MAX_SUBJECT).join(''),
    text: plain(template.text),
    // Escapes & < > " ' / ` =, so that a value is safe as text and as the value of an attribute in quotes.
    html: mustache.render(template.html, values),
  };
}
