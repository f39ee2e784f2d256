import { agentSizeBounds, agentSizeNames, agentSizeSchema } from '@flotilla/protocol/agent-size'
import type { AgentSizeName, AgentSizeSet, WholeSize } from '@flotilla/protocol/agent-size'

/** What a person writes into the form; an empty field leaves the limit at its default. */
export type SizeFields = Readonly<Record<AgentSizeName, string>>

export const sizeWords: Readonly<Record<AgentSizeName, { readonly label: string; readonly unit: string }>> = {
  memory_mb: { label: 'Memory', unit: 'MB' },
  cpus: { label: 'Processors', unit: '' },
  pids: { label: 'Processes and threads', unit: '' },
  tmp_mb: { label: 'Size of /tmp', unit: 'MB' },
}

/** Returns the fields of a setting. Pure. */
export function sizeFields(set: AgentSizeSet): SizeFields {
  const text = (name: AgentSizeName) => (set[name] === undefined ? '' : String(set[name]))
  return { memory_mb: text('memory_mb'), cpus: text('cpus'), pids: text('pids'), tmp_mb: text('tmp_mb') }
}

/** Reads the fields: the setting, or why one of them is no limit. Pure. */
export function readSize(
  fields: SizeFields,
): { readonly set: AgentSizeSet; readonly fault: null } | { readonly set: null; readonly fault: string } {
  const given = agentSizeNames.filter((name) => fields[name].trim() !== '')
  const wrong = given.find((name) => !agentSizeSchema.safeParse({ [name]: numberIn(fields[name]) }).success)
  if (wrong !== undefined) {
    const { min, max } = agentSizeBounds[wrong]
    const kind = wrong === 'cpus' ? 'a number' : 'a whole number'
    return { set: null, fault: `${sizeWords[wrong].label}: write ${kind} from ${min} to ${max}, or nothing.` }
  }
  return { set: Object.fromEntries(given.map((name) => [name, numberIn(fields[name])])), fault: null }
}

/** Formats the limits that follow from a setting, one a line. Pure. */
export function sizeText(set: AgentSizeSet, preset: WholeSize): string {
  return agentSizeNames
    .map((name) => {
      const { label, unit } = sizeWords[name]
      const limit = `${set[name] ?? preset[name]}${unit === '' ? '' : ` ${unit}`}`
      return `${label}: ${limit}${set[name] === undefined ? ' (default)' : ''}`
    })
    .join('\n')
}

function numberIn(text: string): number {
  return Number(text.trim().replace(',', '.'))
}
