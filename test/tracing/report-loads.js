// Loaded before a hub's own code: says on standard error which modules of OpenTelemetry are loaded.
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, next) {
    if (url.includes('@opentelemetry')) process.stderr.write(`loaded ${url}\n`);
    return next(url, context);
  },
});
