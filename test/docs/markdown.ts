// Extracts the parts of a Markdown page for tests: blocks, notes, tables, links, headings.
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import GithubSlugger from 'github-slugger';
import { marked, type Token, type Tokens } from 'marked';

export const ROOT = new URL('../../', import.meta.url);

/** Directories without our own pages: packages, and generated files. */
const NOT_OURS = new Set(['node_modules', '.git', '.hub', 'dist']);

export function readPage(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

/** The paths of all pages there are. */
export function listPages(): string[] {
  return globSync('**/*.md', { cwd: fileURLToPath(ROOT), exclude: (name) => NOT_OURS.has(name) }).sort();
}

/** A generated page: its program is responsible for its contents. */
export function isGenerated(page: string): boolean {
  return /^<!-- (?:generated|written) by /i.test(page);
}

export type Block = {
  /** Empty if it has none. */
  readonly language: string;
  readonly content: string;
  /** The comment right above it; empty if there is none. */
  readonly note: string;
};

/** All code blocks, in order, wherever they stand. */
export function readBlocks(page: string): Block[] {
  return readParts(page).filter((part) => part.kind === 'block');
}

export type Part = ({ readonly kind: 'block' } & Block) | { readonly kind: 'note'; readonly text: string };

/** Code blocks and comments, in order. */
export function readParts(page: string): Part[] {
  const parts: Part[] = [];
  let note = '';
  for (const token of allTokens(page)) {
    if (token.type === 'space') continue;
    if (token.type === 'code') {
      const { lang: language = '', text } = token as Tokens.Code;
      parts.push({ kind: 'block', language, content: `${text}\n`, note });
    }
    note = '';
    if (token.type !== 'html') continue;
    for (const [, text = ''] of token.raw.matchAll(/<!--\s*(.*?)\s*-->/gs)) {
      parts.push({ kind: 'note', text });
      note = text;
    }
  }
  return parts;
}

/** The contents of the fenced blocks of a language, in order. */
export function fencedBlocks(page: string, language: string): string[] {
  return readBlocks(page)
    .filter((block) => block.language === language)
    .map(({ content }) => content);
}

/** The targets of links and pictures, unchanged. */
export function readLinks(page: string): string[] {
  return allTokens(page).flatMap((token) =>
    token.type === 'link' || token.type === 'image' ? [(token as Tokens.Link).href] : [],
  );
}

/** The anchors of a page's headings, as GitHub makes them. */
export function readAnchors(page: string): string[] {
  const slugger = new GithubSlugger();
  return allTokens(page).flatMap((token) =>
    token.type === 'heading' ? [slugger.slug(plainText((token as Tokens.Heading).tokens))] : [],
  );
}

/** The cells of all table rows whose first cell is code, without the backquotes of that one. */
export function codeRows(page: string): string[][] {
  return page
    .split('\n')
    .filter((line) => /^\| `/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    .map(([first = '', ...rest]) => [first.replaceAll('`', ''), ...rest]);
}

/** Every token, each before its children. */
function allTokens(page: string): Token[] {
  const tokens: Token[] = [];
  marked.walkTokens(marked.lexer(page), (token) => {
    tokens.push(token);
  });
  return tokens;
}

/** What a reader sees of it. */
function plainText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => ('tokens' in token && token.tokens ? plainText(token.tokens) : unescaped(token)))
    .join('');
}

/** marked keeps entities such as `&lt;` as they are written. */
function unescaped(token: Token): string {
  const text = 'text' in token ? String(token.text) : '';
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}
