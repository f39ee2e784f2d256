import { agentIdSchema } from '@flotilla/protocol/ids'

const nameMaxChars = 64

/** Makes an agent's name of what a person types: letters, digits, `_` and `-`, and no space. Pure. */
export function agentNameOf(typed: string): string {
  return typed
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^A-Za-z0-9_]+/g, '-')
    .replace(/^[-_]+/, '')
    .slice(0, nameMaxChars)
}

/** Returns the name without the `-` at its end, which is there while a person types a name of several words. Pure. */
export function finishedName(name: string): string {
  return name.replace(/-+$/, '')
}

/** Returns why a name cannot be an agent's; null if it can. Pure. */
export function agentNameFault(name: string, taken: readonly string[]): string | null {
  if (name === '') return null
  if (taken.includes(name)) return `There is an agent ${name} already.`
  const result = agentIdSchema.safeParse(name)
  return result.success ? null : (result.error.issues[0]?.message ?? 'This is not a valid agent name.')
}
