// Draws the results as a chart with a bar for the hub and one for the peer in each case.
import { type MeasuredCase, type Results, rateRatio } from './results.ts';

const WIDTH = 760;
const LABEL_WIDTH = 230;
const BAR_HEIGHT = 14;
const CASE_GAP = 18;
const TOP = 82;
/** Colors with enough contrast on a white page and on GitHub's dark page. */
const COLORS = { hub: '#2f81f7', peer: '#8b949e' } as const;
const COMPARED = ['hub', 'peer'] as const;

type Bar = { readonly name: (typeof COMPARED)[number]; readonly label: string; readonly perSecond: number };

/** Each case has its own scale, since only bars of the same case are comparable. */
export function resultsChart({ cases, connections, machine, at }: Results): string {
  let y = TOP;
  const groups = cases.map((measured) => {
    const bars = barsOf(measured, connections);
    const group = caseGroup(measured, bars, y);
    y += bars.length * (BAR_HEIGHT + 2) + CASE_GAP;
    return group;
  });
  const about = `${connections} connections, ${machine.cores} cores (${machine.cpu}), ${at.slice(0, 10)}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" role="img" font-family="system-ui, sans-serif" font-size="12" fill="#768390">
<title>Requests per second: the hub, and a peer that does the same main work</title>
<text x="0" y="18" font-size="15" font-weight="600">Requests per second</text>
<text x="0" y="36">${escaped(about)}</text>
<text x="0" y="54">The peer is a hand-written server (Fastify, pg) that does the same main work, without batches. Longer bars are faster.</text>
<text x="0" y="72">Each pair has its own scale. × is the median of the ratios of the rounds, not the ratio of the two figures.</text>
${groups.join('\n')}
</svg>
`;
}

function barsOf({ sides: { hub, peer } }: MeasuredCase, connections: number): Bar[] {
  const rates = { hub: hub?.perSecond[connections], peer: peer?.perSecond[connections] };
  const ratio = rateRatio(hub, peer, connections)?.median ?? Number.NaN;
  return COMPARED.flatMap((name) => {
    const perSecond = rates[name];
    const label = name === 'hub' ? `hub, ${ratio.toFixed(1)}×` : name;
    return perSecond === undefined ? [] : [{ name, label, perSecond }];
  });
}

function caseGroup({ title }: MeasuredCase, bars: readonly Bar[], top: number): string {
  const room = WIDTH - LABEL_WIDTH - 150;
  const most = Math.max(...bars.map(({ perSecond }) => perSecond));
  const lines = bars.map(({ name, label, perSecond }, index) => {
    const y = top + index * (BAR_HEIGHT + 2);
    const width = Math.max(1, Math.round((perSecond / most) * room));
    const text = `${Math.round(perSecond).toLocaleString('en-US')}  ${label}`;
    return `<rect x="${LABEL_WIDTH}" y="${y}" width="${width}" height="${BAR_HEIGHT}" fill="${COLORS[name]}"/><text x="${LABEL_WIDTH + width + 6}" y="${y + 11}">${text}</text>`;
  });
  return `<text x="0" y="${top + 11}" font-weight="600">${escaped(title)}</text>\n${lines.join('\n')}`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
