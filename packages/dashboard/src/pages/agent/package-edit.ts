import { packageListSchema, toolboxNames } from '@flotilla/protocol/agent-packages'
import type { PackageList, ToolboxName } from '@flotilla/protocol/agent-packages'

/** The packages of an agent as a form shows them: names separated by spaces, commas or lines. */
export interface PackageFields {
  readonly apt: string
  readonly npm: string
  readonly pip: string
  readonly toolboxes: readonly ToolboxName[]
}

const registries = ['apt', 'npm', 'pip'] as const

/** Pure. */
export function packageFields(list: PackageList): PackageFields {
  return {
    apt: (list.apt ?? []).join('\n'),
    npm: (list.npm ?? []).join('\n'),
    pip: (list.pip ?? []).join('\n'),
    toolboxes: list.toolboxes ?? [],
  }
}

/** Reads the fields; returns the list, or the reason why one of them is invalid. Pure. */
export function readPackages(
  fields: PackageFields,
): { readonly list: PackageList; readonly fault: null } | { readonly list: null; readonly fault: string } {
  const names = (text: string): string[] | undefined => {
    const found = [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))]
    return found.length === 0 ? undefined : found
  }
  const given = {
    ...Object.fromEntries(
      registries.flatMap((from) => (names(fields[from]) === undefined ? [] : [[from, names(fields[from])]])),
    ),
    ...(fields.toolboxes.length === 0
      ? {}
      : { toolboxes: toolboxNames.filter((name) => fields.toolboxes.includes(name)) }),
  }
  const parsed = packageListSchema.safeParse(given)
  if (parsed.success) return { list: parsed.data, fault: null }
  const [issue] = parsed.error.issues
  return { list: null, fault: `${String(issue?.path[0] ?? 'packages')}: ${issue?.message ?? 'invalid'}` }
}

/** Formats one package a line, for a readable difference. Pure. */
export function packagesText(fields: PackageFields): string {
  const { list } = readPackages(fields)
  if (list === null) return ''
  return [
    ...(list.toolboxes ?? []).map((name) => `toolbox ${name}`),
    ...registries.flatMap((from) => (list[from] ?? []).map((name) => `${from} ${name}`)),
  ].join('\n')
}
