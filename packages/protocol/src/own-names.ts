import * as z from 'zod/mini'

/** The kinds of things that a person gives names to, with the most names of each that are kept. */
export const ownNameMax = { conversations: 500, run_filters: 20 } as const
export type OwnNameKind = keyof typeof ownNameMax

/** Lengths in characters. */
export const ownNameLimits = {
  /** A conversation by its agent and session, or the address part of a filter. */
  keyMaxChars: 700,
  nameMaxChars: 80,
} as const

const names = z.record(z.string(), z.string())

/** The names that one person gave: `conversations` by agent and session, `run_filters` by the query of the page Runs. */
export const ownNamesSchema = z.strictObject({ conversations: names, run_filters: names })
export type OwnNames = z.infer<typeof ownNamesSchema>

export const ownNameChangeSchema = z.strictObject({
  kind: z.enum(['conversations', 'run_filters']),
  /** Not a whole number, because JavaScript sorts such keys before all others. */
  key: z.string().check(z.regex(/\D/), z.maxLength(ownNameLimits.keyMaxChars)),
  /** Empty removes the name. */
  name: z.string().check(z.maxLength(ownNameLimits.nameMaxChars)),
})
export type OwnNameChange = z.infer<typeof ownNameChangeSchema>

export const noOwnNames: OwnNames = { conversations: {}, run_filters: {} }

/** The key of a conversation among a person's names; an agent's id contains no space. Pure. */
export function conversationKey(agent: string, session: string): string {
  return `${agent} ${session}`
}

/** Returns the names with a change: the new name is the newest, and only the newest ones are kept. Pure. */
export function withOwnName(names: OwnNames, { kind, key, name }: OwnNameChange): OwnNames {
  const others = Object.entries(names[kind]).filter(([one]) => one !== key)
  const all = name.trim() === '' ? others : [...others, [key, name.trim()] as const]
  return { ...names, [kind]: Object.fromEntries(all.slice(-ownNameMax[kind])) }
}
