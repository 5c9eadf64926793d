// The parts of prom-client that are used here: its registry, which writes the formats, and what sums over processes.
//
// Taken one by one: the package as a whole loads OpenTelemetry and more besides, which takes ten times as long.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const TextRegistry: typeof import('prom-client').Registry = require('prom-client/lib/registry.js');

export const AggregatorRegistry: typeof import('prom-client').AggregatorRegistry = require('prom-client/lib/cluster.js');
