import type { StepWork } from '@flotilla/foundation/intake'
import { compileRule, createSharing } from './compile-rule.ts'
import type { PolicyRule } from './compile-rule.ts'
import type { CheckedCase, ParsedPolicy } from './parse-policy.ts'
import { policyLimits } from './policy-schema.ts'
import type { WrittenRule } from './policy-schema.ts'
import { rulesOfPreset } from './presets.ts'

export type PolicyReading =
  | { readonly ok: true; readonly rules: readonly PolicyRule[]; readonly cases: readonly CheckedCase[] }
  | { readonly ok: false; readonly line: number; readonly reason: string }

/**
 * Compiles the rules of a parsed policy, or returns the line and reason of the first fault. Can pause between two rules.
 * Pure.
 */
export function* readPolicySteps(parsed: ParsedPolicy): StepWork<PolicyReading> {
  if (!parsed.ok) return parsed
  const rules: PolicyRule[] = []
  const lines = new Map<string, number>()
  const sharing = createSharing()
  for (const { entry, line } of parsed.entries) {
    const written: readonly WrittenRule[] = 'preset' in entry ? rulesOfPreset(entry) : [entry]
    if ('preset' in entry && entry.preset === 'mcp' && entry.hosts !== undefined)
      return { ok: false, line, reason: 'the preset mcp takes server and reads, and no hosts' }
    if ('preset' in entry && entry.preset !== 'mcp' && (entry.server ?? entry.reads) !== undefined)
      return {
        ok: false,
        line,
        reason: `the preset ${entry.preset} takes hosts, and neither server nor reads`,
      }
    for (const one of written) {
      yield
      const known = lines.get(one.name)
      if (known !== undefined)
        return {
          ok: false,
          line,
          reason: `the name ${one.name} is used in line ${known} as well; names must differ`,
        }
      lines.set(one.name, line)
      const rule = compileRule(one, { line, order: rules.length }, sharing)
      if ('fault' in rule) return { ok: false, line, reason: rule.fault }
      rules.push(rule)
    }
    if (rules.length > policyLimits.rulesMax)
      return { ok: false, line, reason: `the file has more than ${policyLimits.rulesMax} rules` }
  }
  const asks = new Set(rules.filter(({ verdict }) => verdict === 'ask').map(({ name }) => name))
  for (const rule of rules) {
    const unknown = rule.excepts.find((name) => !asks.has(name))
    if (unknown !== undefined)
      return {
        ok: false,
        line: rule.line,
        reason: `the rule ${rule.name} excepts ${unknown}, which is no rule with the verdict ask`,
      }
  }
  return { ok: true, rules, cases: parsed.cases }
}
