// The pages of paths list existing files, and the paths do not grow.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const FOLDER = new URL('../../docs/paths/', import.meta.url);

/** The most files that each part of a path may have. */
const LIMITS: Readonly<Record<string, readonly number[]>> = {
  'activation.md': [25],
  // From the request to the settlement: 35 at most.
  'callback.md': [19, 16, 11],
  'event.md': [13, 16],
};

describe('the pages of docs/paths', () => {
  for (const page of readdirSync(FOLDER)) {
    const text = readFileSync(new URL(page, FOLDER), 'utf8');
    const parts = text
      .split(/^## /m)
      .map((part) => Array.from(part.matchAll(/^\d+\. \[`[^`]+`\]\(([^)]+)\)/gm), ([, file = '']) => file))
      .filter((files) => files.length > 0);

    it(`${page} links existing files, each once`, () => {
      const files = parts.flat();
      expect(files.filter((file) => !existsSync(new URL(file, FOLDER)))).to.deep.equal([]);
      expect(new Set(files).size).to.equal(files.length);
    });

    it(`${page} counts its files, within the limit`, () => {
      const limits = LIMITS[page] ?? expect.fail(`no limit for ${page}`);
      expect(parts).to.have.length(limits.length);
      parts.forEach((files, index) => {
        expect(files.length, `part ${index + 1}`).to.be.at.most(limits[index] ?? 0);
        expect(text).to.match(new RegExp(`\\b${files.length} (more )?files\\b`));
      });
    });
  }
});
