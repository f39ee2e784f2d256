import { reservedVariables } from './reserved-variables.ts'

/**
 * The place of a placeholder for programs of agents, as the owner writes it: `env:VARIABLE`, `git`
 * or `git:USER` (git's credential helper), `npm` (the registry's token), `netrc` or `netrc:USER`.
 */
export type ProgramUse =
  | { readonly kind: 'env'; readonly variable: string }
  | { readonly kind: 'git' | 'netrc'; readonly user: string }
  | { readonly kind: 'npm' }

/** GitHub takes any user name with a token, and this is the one that its documentation uses. */
const defaultUser = 'x-access-token'
const form = /^(?:env:([A-Z][A-Z0-9_]{0,63})|(git|netrc)(?::([A-Za-z0-9._@-]{1,64}))?|(npm))$/

/** Parses a use; null if it is invalid, or names a variable that belongs to the system or the mesh. Pure. */
export function parseProgramUse(text: string): ProgramUse | null {
  const [, variable, place, user, npm] = form.exec(text) ?? []
  if (npm !== undefined) return { kind: 'npm' }
  if (variable !== undefined) return reservedVariables.test(variable) ? null : { kind: 'env', variable }
  if (place === 'git' || place === 'netrc') return { kind: place, user: user ?? defaultUser }
  return null
}
