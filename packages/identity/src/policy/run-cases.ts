import type { StepWork } from '@flotilla/foundation/intake'
import { plainHost } from './compile-rule.ts'
import type { DecideEffect, Effect, Verdict } from './effect.ts'
import { decidedRequest } from './decided-request.ts'
import type { CheckedCase } from './parse-policy.ts'
import type { PolicyCase } from './policy-schema.ts'

/** Returns the effect that a case describes. Pure. */
export function effectOfCase(one: Omit<PolicyCase, 'expect' | 'rule'>): Effect {
  const url = one.url === undefined ? null : new URL(one.url)
  const tool =
    one.tool ??
    (one.mcp_server === undefined ? (one.chain === undefined ? 'http_request' : 'wallet_transfer') : 'mcp')
  return {
    agent: one.agent,
    tool,
    ...(one.project === undefined ? {} : { project: one.project }),
    ...(url === null
      ? {}
      : {
          host: plainHost(url.hostname),
          // A tunnel hides what is sent through it.
          ...(tool === 'connect'
            ? { method: null, path: null }
            : decidedRequest({ method: one.method ?? 'GET', path: url.pathname, query: url.search }, [])),
        }),
    ...(one.mcp_server === undefined ? {} : { mcpServer: one.mcp_server, mcpTool: one.mcp_tool ?? null }),
    ...(one.credential === undefined ? {} : { credentials: one.credential }),
    ...(one.chain === undefined ? {} : { chain: one.chain, usd: one.usd ?? null }),
    ...(one.contract === undefined ? {} : { contract: comparedAddress(one.contract) }),
    ...(one.payee === undefined ? {} : { payees: one.payee.map(comparedAddress).toSorted() }),
    ...(one.origin === undefined ? {} : { origins: one.origin }),
    ...(one.channel === undefined ? {} : { channels: one.channel }),
  }
}

/** Hexadecimal addresses are compared in lower case; in others, case matters. */
function comparedAddress(address: string): string {
  return address.startsWith('0x') ? address.toLowerCase() : address
}

/** A case with the decision about its effect. */
export interface CaseResult {
  readonly line: number
  readonly effect: Effect
  readonly expect: PolicyCase['expect']
  readonly verdict: Verdict
  readonly rule: string | null
  /** Why the case fails; null if it holds. */
  readonly fault: string | null
}

/** Decides every case of a file; can pause between two cases. Pure. */
export function* runCases(
  decide: DecideEffect,
  cases: readonly CheckedCase[],
): StepWork<readonly CaseResult[]> {
  const results: CaseResult[] = []
  for (const one of cases) {
    yield
    const effect = effectOfCase(one)
    const { verdict, rule } = decide(effect)
    const by = rule === null ? 'no rule matches' : `the rule ${rule} decides`
    const fault =
      verdict !== one.expect
        ? `the case expects ${one.expect}, and the verdict is ${verdict}: ${by}`
        : one.rule !== undefined && one.rule !== rule
          ? `the case expects the rule ${one.rule}, and ${by}`
          : null
    results.push({ line: one.line, effect, expect: one.expect, verdict, rule, fault })
  }
  return results
}
