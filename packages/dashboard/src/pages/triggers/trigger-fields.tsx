import type { ReactNode } from 'react'
import { ChoiceField } from '../../design/fields.tsx'
import { FormField } from '../../design/form-field.tsx'

interface Field {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** Selects the agent that the trigger starts. */
export function AgentChoice({ agents, value, onChange }: Field & { readonly agents: readonly string[] }) {
  return <ChoiceField label="Agent" value={value} onChange={onChange} choices={agents} />
}

/** The input field for the message that the trigger sends to its agent. */
export function ToldWords({
  value,
  onChange,
  hint,
  maxLength,
}: Field & { readonly hint?: ReactNode; readonly maxLength: number }) {
  return (
    <FormField label="Message to the agent" hint={hint}>
      <textarea
        className="input wide"
        rows={4}
        maxLength={maxLength}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </FormField>
  )
}

/** The condition of a trigger. */
export function OnlyWhen({
  value,
  onChange,
  hint,
  maxLength,
}: Field & { readonly hint: string; readonly maxLength: number }) {
  return (
    <FormField label="Only when" hint={hint}>
      <input
        className="input wide mono"
        maxLength={maxLength}
        spellCheck={false}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </FormField>
  )
}
