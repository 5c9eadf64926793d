// Removes what identifies the recipient from the answers of mail servers, which the hub stores and logs.

const ADDRESS = /[^\s<>()[\],;:"']+@[^\s<>()[\],;:"']+/g;
/** An encoded word of RFC 2047, as in the header To of a name of another script. */
const ENCODED_WORD = /=\?[^?\s]+\?[bq]\?[^?\s]*\?=/gi;
/** In characters. Shorter ones are words of an answer by chance. */
const SHORTEST_WORD = 3;
/** In bytes of UTF-8, for a whole name: two Chinese characters are a name. */
const SHORTEST_NAME = 3;
/** Scripts that write no spaces between words. */
const WITHOUT_SPACES = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

export type Recipient = { readonly name: string; readonly address: string };

/**
 * Replaces every address, and the local part of the recipient's address and the words of its name wherever
 * they stand alone, in any case.
 */
export function withoutRecipient(text: string, { name, address }: Recipient): string {
  const [local = ''] = address.split('@');
  const hidden = replaceWord(text.replace(ADDRESS, '[address]'), local, '[address]');
  const words = name.split(/[\s,;]+/).filter((word) => word.length >= SHORTEST_WORD);
  const whole = name.trim();
  const names = Buffer.byteLength(whole) >= SHORTEST_NAME ? [whole, ...words] : words;
  return names
    .reduce((rest, each) => replaceName(rest, each), hidden.replace(ENCODED_WORD, '[name]'))
    .replace(/\[name\](\s+\[name\])+/g, '[name]');
}

function replaceName(text: string, name: string): string {
  if (WITHOUT_SPACES.test(name)) return text.replace(new RegExp(RegExp.escape(name), 'giu'), '[name]');
  return replaceWord(text, name, '[name]');
}

function replaceWord(text: string, word: string, by: string): string {
  if (word.length < SHORTEST_WORD) return text;
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(word)}(?![\\p{L}\\p{N}])`, 'giu'), by);
}
