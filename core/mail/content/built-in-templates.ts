// The templates of apps that set none: English.
import type { MailKindName } from '../entities.ts';
import type { TemplateTexts } from './placeholder-values.ts';

const GREETING =
  '{{#customerName}}Hello {{customerName}},{{/customerName}}{{^customerName}}Hello,{{/customerName}}';
const ORDER = 'Order {{orderId}}, {{amount}}, paid on {{paidOn}}.';

export const BUILT_IN: Readonly<Record<MailKindName, TemplateTexts>> = {
  license: {
    subject: 'Your license key for {{appName}}',
    text: `${GREETING}

Thank you for buying {{offerName}}. Enter this license key in {{appName}}:

{{#licenses}}
{{licenseKey}}
{{/licenses}}
{{#downloadUrl}}

Download {{appName}}: {{downloadUrl}}
{{/downloadUrl}}

Keep this mail: you need the key to install {{appName}} on another machine.

${ORDER}
`,
    html: page(`<p>Thank you for buying {{offerName}}. Enter this license key in {{appName}}:</p>
{{#licenses}}
<p style="font-family:ui-monospace,Consolas,monospace;font-size:18px;background:#f2f3f5;border-radius:6px;\
padding:12px 16px">{{licenseKey}}</p>
{{/licenses}}
{{#downloadUrl}}
<p><a href="{{downloadUrl}}">Download {{appName}}</a></p>
{{/downloadUrl}}
<p>Keep this mail: you need the key to install {{appName}} on another machine.</p>`),
  },
  renewal: {
    subject: 'Your renewal of {{appName}}',
    text: `${GREETING}

Your license of {{appName}} is renewed.

{{#licenses}}
{{#expiresOn}}It is valid until {{expiresOn}}.{{/expiresOn}}\
{{^expiresOn}}The new period begins when you activate it.{{/expiresOn}}
{{/licenses}}

You do not need to do anything: {{appName}} learns this when it is online.

${ORDER}
`,
    html: page(`<p>Your license of {{appName}} is renewed.</p>
{{#licenses}}
<p>{{#expiresOn}}It is valid until <strong>{{expiresOn}}</strong>.{{/expiresOn}}\
{{^expiresOn}}The new period begins when you activate it.{{/expiresOn}}</p>
{{/licenses}}
<p>You do not need to do anything: {{appName}} learns this when it is online.</p>`),
  },
  seats: {
    subject: 'More seats for {{appName}}',
    text: `${GREETING}

{{#licenses}}
Your license of {{appName}} has {{seatsAdded}} more seats.
{{/licenses}}

You can activate {{appName}} on more machines at once, with the same license key.

${ORDER}
`,
    html: page(`{{#licenses}}
<p>Your license of {{appName}} has <strong>{{seatsAdded}}</strong> more seats.</p>
{{/licenses}}
<p>You can activate {{appName}} on more machines at once, with the same license key.</p>`),
  },
};

/** One column, with styles on elements: many mail programs ignore style sheets. */
function page(content: string): string {
  return `<!doctype html>
<html lang="en">
<body style="margin:0;padding:24px;font-family:system-ui,Segoe UI,Helvetica,Arial,sans-serif;\
font-size:16px;line-height:1.5;color:#1c1e21">
<div style="max-width:560px">
<p>${GREETING}</p>
${content}
<p style="color:#65676b;font-size:13px">${ORDER}</p>
</div>
</body>
</html>
`;
}
