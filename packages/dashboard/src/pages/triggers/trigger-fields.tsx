import { useMesh } from '../../data/use-mesh.ts'
import { FormField } from '../../design/form-field.tsx'

/** Ids of those that take work. */
export function useWorkingAgents(): readonly string[] {
  const status = useMesh('status')
  return (status.data?.agents ?? []).filter(({ archived }) => !archived).map(({ id }) => id)
}

/** Which agent is set to work. */
export function AgentChoice({
  agents,
  value,
  onChange,
}: {
  readonly agents: readonly string[]
  readonly value: string
  readonly onChange: (agent: string) => void
}) {
  return (
    <FormField label="Agent">
      <select className="input wide" value={value} onChange={(event) => onChange(event.target.value)}>
        {agents.map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
    </FormField>
  )
}
