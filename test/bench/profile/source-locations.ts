// Names the source files of a profile's functions, because hubctl runs a bundle.
import { readFile } from 'node:fs/promises';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { undefinedIfMissing } from '../../../lib/caught-error.ts';
import type { CpuProfile, ProfileNode } from './cpu-profile.ts';

/** Functions of files without a source map keep their location. */
export async function withSourceLocations(profile: CpuProfile): Promise<CpuProfile> {
  const urls = new Set(profile.nodes.map(({ callFrame }) => callFrame.url));
  const files = [...urls].filter((url) => url.startsWith('file:'));
  const maps = new Map(await Promise.all(files.map(async (url) => [url, await mapOf(url)] as const)));
  const nodes = profile.nodes.map((node): ProfileNode => {
    const { url, lineNumber, columnNumber } = node.callFrame;
    const entry = maps.get(url)?.findEntry(lineNumber, columnNumber);
    if (entry === undefined || !('originalSource' in entry)) return node;
    const { originalSource, originalLine, originalColumn } = entry;
    const location = {
      url: new URL(originalSource, url).href,
      lineNumber: originalLine,
      columnNumber: originalColumn,
    };
    return { ...node, callFrame: { ...node.callFrame, ...location } };
  });
  return { ...profile, nodes };
}

async function mapOf(url: string): Promise<SourceMap | undefined> {
  const text = await readFile(`${fileURLToPath(url)}.map`, 'utf8').catch(undefinedIfMissing);
  return text === undefined ? undefined : new SourceMap(JSON.parse(text));
}
