import { plainHost } from './compile-rule.ts'
import type { DecideEffect, Effect } from './effect.ts'
import type { PolicyCase } from './policy-schema.ts'
import type { CheckedCase } from './read-policy.ts'

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
          method: tool === 'connect' ? null : (one.method ?? 'GET').toUpperCase(),
          path: tool === 'connect' ? null : url.pathname,
        }),
    ...(one.mcp_server === undefined ? {} : { mcpServer: one.mcp_server, mcpTool: one.mcp_tool ?? null }),
    ...(one.credential === undefined ? {} : { credentials: one.credential }),
    ...(one.chain === undefined ? {} : { chain: one.chain, usd: one.usd ?? null }),
    ...(one.origin === undefined ? {} : { origins: one.origin }),
  }
}

export interface FailedCase {
  readonly line: number
  readonly reason: string
}

/** Returns the cases whose decision differs from the expected one. Pure. */
export function failedCases(decide: DecideEffect, cases: readonly CheckedCase[]): readonly FailedCase[] {
  return cases.flatMap((one) => {
    const { verdict, rule } = decide(effectOfCase(one))
    const by = rule === null ? 'no rule matches' : `the rule ${rule} decides`
    if (verdict !== one.expect)
      return [
        { line: one.line, reason: `the case expects ${one.expect}, and the verdict is ${verdict}: ${by}` },
      ]
    if (one.rule !== undefined && one.rule !== rule)
      return [{ line: one.line, reason: `the case expects the rule ${one.rule}, and ${by}` }]
    return []
  })
}
