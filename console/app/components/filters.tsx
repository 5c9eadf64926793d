// The filters of a list. They are part of the address, so that links and the back button keep them.
import { go, linkTo, useRoute } from '../route.ts';

export type Filter = {
  /** Name in the address. */
  readonly name: string;
  readonly label: string;
  /** Values and labels; without them, a text field. An empty value means no filter. */
  readonly choices?: readonly (readonly [value: string, label: string])[];
  /** The default value. */
  readonly otherwise?: string;
  readonly placeholder?: string;
  /** Converts the typed text to the value in the address. */
  readonly cleaned?: (text: string) => string;
};

/** Choices of these values, and `any` for no filter. */
export function choicesWithAny(values: readonly string[]): NonNullable<Filter['choices']> {
  return [['', 'any'], ...values.map((value) => [value, value] as const)];
}

export function Filters({ filters }: { readonly filters: readonly Filter[] }) {
  const { path, query } = useRoute();
  return (
    <search class="filters">
      {filters.map((filter) => {
        const Input = filter.choices ? Choice : Text;
        return (
          <Input
            key={filter.name}
            filter={filter}
            value={query[filter.name]}
            onChange={(value) =>
              go(linkTo(path, { ...query, after: undefined, since: undefined, [filter.name]: value }))
            }
          />
        );
      })}
    </search>
  );
}

type InputProps = {
  readonly filter: Filter;
  /** Undefined if the address has no value. */
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
};

function Choice({ filter: { label, choices = [], otherwise = '' }, value, onChange }: InputProps) {
  return (
    <label>
      <span>{label}</span>
      <select value={value ?? otherwise} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

function Text({ filter: { label, placeholder = '', cleaned = trimmed }, value, onChange }: InputProps) {
  return (
    <label>
      <span>{label}</span>
      <input
        type="search"
        value={value ?? ''}
        placeholder={placeholder}
        spellcheck={false}
        autocomplete="off"
        onChange={(event) => onChange(cleaned(event.currentTarget.value))}
      />
    </label>
  );
}

function trimmed(text: string): string {
  return text.trim();
}
