// What the pages of the gateway and of the simulated providers escape and allow.
import { createHash } from 'node:crypto';

/** Text in HTML, also in the value of an attribute. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ESCAPED[sign] ?? sign);
}

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** The source expression of a script or a style sheet in a content security policy. */
export function hashOf(source: string): string {
  return `sha256-${createHash('sha256').update(source).digest('base64')}`;
}
