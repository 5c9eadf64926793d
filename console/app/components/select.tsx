// A choice with its label.

export type Choices = readonly (readonly [value: string, label: string])[];

type SelectProps = {
  readonly label: string;
  readonly choices: Choices;
  readonly value: string;
  readonly onChange: (value: string) => void;
};

export function Select({ label, choices, value, onChange }: SelectProps) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <Options choices={choices} />
      </select>
    </label>
  );
}

export function Options({ choices }: { readonly choices: Choices }) {
  return choices.map(([value, label]) => (
    <option key={value} value={value}>
      {label}
    </option>
  ));
}
