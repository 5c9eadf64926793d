// Every page can be found, and every link in it leads somewhere.
import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { listPages, ROOT, readAnchors, readLinks, readPage } from './markdown.ts';

const PAGES = listPages();
const START = 'docs/README.md';

describe('the links', () => {
  for (const path of PAGES) {
    it(`of ${path} lead to existing files and headings`, () => {
      expect(readLinks(readPage(path)).filter((link) => isBroken(link, path))).to.deep.equal([]);
    });
  }

  it('lead from the start page to every page in two clicks', () => {
    const near = new Set([START, ...pagesBehind(START)]);
    const reached = new Set([...near].flatMap((path) => [path, ...pagesBehind(path)]));
    expect(PAGES.filter((path) => !reached.has(path))).to.deep.equal([]);
  });
});

function isBroken(link: string, from: string): boolean {
  if (/^(https:|mailto:)/.test(link)) return false;
  const { path, anchor } = targetOf(link, from);
  if (!existsSync(new URL(path, ROOT))) return true;
  return anchor !== '' && !(path.endsWith('.md') && anchorsOf(path).has(anchor));
}

const anchors = new Map<string, Set<string>>();

function anchorsOf(path: string): Set<string> {
  const found = anchors.get(path) ?? new Set(readAnchors(readPage(path)));
  anchors.set(path, found);
  return found;
}

/** The pages that a page leads to. */
function pagesBehind(from: string): string[] {
  return readLinks(readPage(from))
    .filter((link) => !/^\w+:/.test(link))
    .map((link) => targetOf(link, from).path)
    .filter((path) => path.endsWith('.md'));
}

function targetOf(link: string, from: string): { path: string; anchor: string } {
  const base = 'https://docs.example/';
  const { pathname, hash } = new URL(link, `${base}${from}`);
  return { path: decodeURIComponent(pathname.slice(1)), anchor: decodeURIComponent(hash.slice(1)) };
}
