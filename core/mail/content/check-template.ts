// Checks a template against the placeholders.
import mustache from 'mustache';
import { HubError } from '../../errors.ts';
import type { MailKindName } from '../entities.ts';
import { LICENSE_PLACEHOLDERS, PLACEHOLDERS, type TemplateTexts } from './placeholder-values.ts';

const LICENSES = 'licenses';

type Part = 'subject' | 'text' | 'html';
/** A token of Mustache: kind, name, start, end, and the tokens of a section. */
type Token = readonly [kind: string, name: string, start: number, end: number, tokens?: readonly Token[]];

/** @throws HubError `mail_template_invalid` that names the field, what is wrong, and what to write instead */
export function checkTemplate(kind: MailKindName, template: TemplateTexts): void {
  for (const part of ['subject', 'text', 'html'] as const) {
    const used = new Set<string>();
    checkTokens(tokensOf(part, template[part]), { kind, part, used, within: undefined });
    const isRequired = kind === 'license' && part !== 'subject' && template[part] !== '';
    if (isRequired && !used.has('licenseKey')) {
      throw invalid(part, `has no {{licenseKey}}: write ${EXAMPLE}, or customers get no key`);
    }
  }
}

const EXAMPLE = '{{#licenses}}{{licenseKey}}{{/licenses}}';

function tokensOf(part: Part, text: string): readonly Token[] {
  try {
    return mustache.parse(text) as unknown as readonly Token[]; // the types of the package say unknown arrays
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    throw invalid(
      part,
      `is not a template: ${what}. Write placeholders as {{appName}}, and close each section`,
    );
  }
}

type Place = {
  readonly kind: MailKindName;
  readonly part: Part;
  /** Collects the names of the placeholders. */
  readonly used: Set<string>;
  /** The section of the licenses, if the tokens are in it. */
  readonly within: typeof LICENSES | undefined;
};

function checkTokens(tokens: readonly Token[], place: Place): void {
  const { part, used, within } = place;
  for (const [type, name, , , inner = []] of tokens) {
    switch (type) {
      case 'text':
      case '!':
        break;
      case 'name':
        if (name === LICENSES) throw invalid(part, `uses {{licenses}} as a value: write ${EXAMPLE}`);
        checkName(name, place);
        used.add(name);
        break;
      case '#':
        if (name === LICENSES && within === undefined && part !== 'subject') {
          checkTokens(inner, { ...place, within: LICENSES });
          break;
        }
        checkName(name, place);
        checkTokens(inner, place);
        break;
      case '^':
        checkName(name, place);
        checkTokens(inner, place);
        break;
      case '&':
        throw invalid(
          part,
          `has {{{${name}}}} or {{&${name}}}: write {{${name}}}, whose value HTML mails escape`,
        );
      default:
        throw invalid(part, `has {{${type}${name}}}: write placeholders and sections only`);
    }
  }
}

function checkName(name: string, { kind, part, within }: Place): void {
  const common: readonly string[] = PLACEHOLDERS;
  const ofLicense: readonly string[] = LICENSE_PLACEHOLDERS[kind];
  if (common.includes(name)) return;
  if (ofLicense.includes(name)) {
    if (within !== undefined) return;
    const fix = part === 'subject' ? 'omit it' : `write {{#licenses}}{{${name}}}{{/licenses}}`;
    throw invalid(part, `has {{${name}}} outside of the licenses: ${fix}`);
  }
  const known = [...common, ...(within === undefined ? [] : ofLicense)].join(', ');
  const sections =
    part === 'subject' || within !== undefined
      ? ''
      : `, and the section #${LICENSES} with ${ofLicense.join(', ')}`;
  throw invalid(part, `has the unknown placeholder {{${name}}}: there are ${known}${sections}`);
}

function invalid(part: Part, problem: string): HubError {
  const message = `the ${part === 'html' ? 'HTML' : part} ${problem}`;
  return new HubError('mail_template_invalid', message, { field: part });
}
