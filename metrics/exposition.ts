// Families as text, for Prometheus and whoever else reads its format.
import type { Metric, Registry } from 'prom-client';
import type { Family } from './family.ts';
import { TextRegistry } from './prom-client-parts.ts';

export type Exposition = { readonly contentType: string; readonly text: string };

/** In OpenMetrics if the reader would rather have it (its `Accept` header), else as Prometheus always wrote it. */
export async function expose(families: readonly Family[], accept: string | undefined): Promise<Exposition> {
  const isOpen = prefersOpenMetrics(accept ?? '');
  const contentType = isOpen ? TextRegistry.OPENMETRICS_CONTENT_TYPE : TextRegistry.PROMETHEUS_CONTENT_TYPE;
  const registry: Registry<typeof contentType> = new TextRegistry();
  registry.setContentType(contentType);
  for (const family of families) {
    // OpenMetrics names a counter without its suffix, which its samples have.
    const name = isOpen && family.type === 'counter' ? family.name.replace(/_total$/, '') : family.name;
    // All that the registry asks of a metric; its type names the library's own classes.
    registry.registerMetric({
      name,
      type: family.type,
      get: () => ({ ...family, name }),
    } as unknown as Metric);
  }
  return { contentType, text: await registry.metrics() };
}

const OPEN_METRICS = 'application/openmetrics-text';

/** By RFC 9110 section 12.5.1, as far as two media types need it. */
function prefersOpenMetrics(accept: string): boolean {
  let open = 0;
  let plain = 0;
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const quality = Number(parameters.find((each) => each.startsWith('q='))?.slice(2) ?? 1);
    if (type === OPEN_METRICS) open = Math.max(open, quality);
    else if (type === 'text/plain' || type === 'text/*' || type === '*/*') plain = Math.max(plain, quality);
  }
  return open > plain;
}
