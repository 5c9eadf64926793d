// Preloaded into a hub: reports on standard error which modules of the OpenTelemetry SDK it loads. The API is not reported:
// it is always loaded.
import { registerHooks } from 'node:module';

registerHooks({
  load(url, context, next) {
    if (url.includes('@opentelemetry') && !url.includes('@opentelemetry/api/'))
      process.stderr.write(`loaded ${url}\n`);
    return next(url, context);
  },
});
