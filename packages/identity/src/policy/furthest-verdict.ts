import { askedEffect, compileMatch } from './compile-rule.ts'
import type { AskedEffect, PolicyRule } from './compile-rule.ts'
import type { Effect, Verdict } from './effect.ts'
import type { Match } from './policy-schema.ts'

/**
 * The fields that are the same for every effect that goes to one host; all others differ from effect to effect. An
 * effect may have further credentials.
 */
const fixed: readonly (keyof Match)[] = ['agent', 'project', 'tool', 'host', 'mcp_server']

/** An effect as far as it is the same for all effects that go to one place. */
export interface EffectAtPlace extends Pick<
  Effect,
  'agent' | 'project' | 'tool' | 'host' | 'credentials' | 'mcpServer'
> {
  /** Whether `host` is every name below a domain, of which a rule may except some. */
  readonly isDomain?: boolean
}

/**
 * Creates the function that returns the mildest verdict that any effect of one agent, tool, host and credential can
 * ever get, whatever its method, path, origin and amount: `deny` only if one rule denies all of them. Pure.
 */
export function createFurthestVerdict(
  rules: readonly PolicyRule[],
): (effect: EffectAtPlace) => { readonly verdict: Verdict; readonly rule: string | null } {
  // A rule about a field that differs from effect to effect matches none without it. A condition may hold for this
  // credential alone, and not if the effect has a further one.
  const always = rules.filter(({ when }) => when === null)
  const exceptions = rules.map((rule) => ({ excepts: rule.excepts, mayMatch: matchesSome(rule) }))
  return ({ isDomain = false, ...effect }) => {
    const asked = askedEffect(effect)
    const denied = always.find((rule) => rule.verdict === 'deny' && rule.matches(asked))
    if (denied !== undefined) return { verdict: 'deny', rule: denied.name }
    const asks = always.filter((rule) => rule.verdict === 'ask' && rule.matches(asked))
    const excepted = new Set(
      exceptions.flatMap(({ excepts, mayMatch }) => (mayMatch(asked, isDomain) ? excepts : [])),
    )
    const asking = asks.find(({ name }) => !excepted.has(name))
    return asking === undefined ? { verdict: 'allow', rule: null } : { verdict: 'ask', rule: asking.name }
  }
}

/** Returns whether a rule matches some effect that goes to the place of an effect. */
function matchesSome({ match }: PolicyRule): (asked: AskedEffect, isDomain: boolean) => boolean {
  const loosened = (fields: readonly string[]): PolicyRule['matches'] => {
    const kept = Object.fromEntries(Object.entries(match).filter(([field]) => fields.includes(field)))
    return compileMatch(kept, false)
  }
  const [atHost, atSomeHost] = [loosened(fixed), loosened(fixed.filter((field) => field !== 'host'))]
  return (asked, isDomain) => (isDomain ? atSomeHost(asked) : atHost(asked))
}
