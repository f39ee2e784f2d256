import type { Facts, Finding } from '../facts.ts'
import { checkAskers } from './check-askers.ts'
import { checkEffects } from './check-effects.ts'
import { checkHandOffs } from './check-hand-offs.ts'
import { checkMessages } from './check-messages.ts'
import { checkMoney } from './check-money.ts'
import { checkRuns } from './check-runs.ts'

/** Runs every check on the facts, in the order in which the header of `main.ts` lists them. */
export function checkAll(facts: Facts): readonly Finding[] {
  return [
    ...checkRuns(facts),
    ...checkAskers(facts),
    ...checkEffects(facts),
    ...checkHandOffs(facts),
    ...checkMessages(facts),
    ...checkMoney(facts),
    ...facts.leftovers.map(({ check, what }) => ({ check, what, evidence: [] })),
  ]
}
