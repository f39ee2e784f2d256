import { finished } from '@flotilla/foundation/intake'
import type { StepWork } from '@flotilla/foundation/intake'
import { followFile } from '@flotilla/foundation/config'
import type { FileEditor } from '@flotilla/foundation/config'
import { Problem } from '@flotilla/protocol/problem'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import { createDecideEffect } from './decide-effect.ts'
import type { DecideEffect } from './effect.ts'
import type { PolicyRule } from './compile-rule.ts'
import { parsePolicy } from './parse-policy.ts'
import type { ParsedPolicy } from './parse-policy.ts'
import { createPolicyText } from './policy-text.ts'
import { readPolicySteps } from './read-policy.ts'
import { runCases } from './run-cases.ts'
import type { CaseResult } from './run-cases.ts'

/** The policy as it is in force; a snapshot does not change when the file does. */
export interface PolicySnapshot {
  readonly decide: DecideEffect
  readonly rules: readonly PolicyRule[]
  /** The cases of the file with their results; none if the file cannot be read. */
  readonly cases: readonly CaseResult[]
  /** File, line and reason of the fault because of which everything that leaves is denied; null without a fault. */
  readonly broken: string | null
}

/**
 * `config/policy.yaml`, the owner's rules about effects.
 *
 * 1. An invalid file, or one whose own cases fail, denies every effect as soon as it is noticed. A missing file has no
 *    rules.
 * 2. A manual edit is noticed within a second.
 */
export interface PolicyStore {
  readonly snapshot: () => PolicySnapshot
  /**
   * Rewrites the file. Its cases are checked before it is written. Problem `unprocessable` with the line of a fault,
   * also if the file is invalid before.
   */
  edit(change: PolicyChange): Promise<void>
  /** Checks a change as `edit` does, with the same problems, and writes nothing. */
  tryEdit(change: PolicyChange): Promise<void>
  /** Returns the policy of a text that is not in force. */
  tryText(text: string): Promise<PolicySnapshot>
  refresh(): Promise<void>
  close(): Promise<void>
}

/** A rule to add at the end of the file. Both functions may throw a Problem, and nothing is written then. */
export interface PolicyChange {
  readonly rule: object
  /** Gets the valid policy before the change. */
  readonly before: (policy: PolicySnapshot) => void
  /** Gets the valid policy that would apply. */
  readonly check: (next: PolicySnapshot) => void
}

const file = 'config/policy.yaml'

export async function createPolicyFile(deps: {
  readonly path: string
  readonly editor: FileEditor
  readonly clock: Clock
  readonly log: Log
  /** Does work that can pause, so that requests are served while a long file is read. */
  readonly inSteps: <T>(work: StepWork<T>) => Promise<T>
}): Promise<PolicyStore> {
  const { log } = deps
  const policyText = createPolicyText()
  let current = brokenSnapshot(`${file} has not been read`, null)

  let latest: { readonly text: string | null; readonly policy: PolicySnapshot } | null = null

  async function tryText(text: string | null): Promise<PolicySnapshot> {
    return deps.inSteps(snapshotSteps(await policyText.parse(text ?? '')))
  }

  /** A long file takes a fifth of a second, so the policy of the text that was read last is kept. */
  async function read(text: string | null): Promise<PolicySnapshot> {
    if (latest === null || latest.text !== text) latest = { text, policy: await tryText(text) }
    return latest.policy
  }

  function take(next: PolicySnapshot): void {
    const before = current.broken
    current = next
    if (next.broken === before) return
    if (next.broken === null)
      log.info({ rules: next.rules.length }, 'read config/policy.yaml; its rules apply from now on')
    else
      log.error(
        { detail: next.broken },
        'config/policy.yaml is invalid; every effect of agents is denied until it is valid',
      )
  }

  const { refresh, close } = await followFile({
    path: deps.path,
    clock: deps.clock,
    take: async (text) => take(await read(text)),
    onUnreadable: (error) => {
      log.error(
        { err: error },
        'failed to read config/policy.yaml; every effect of agents is denied until it can be read',
      )
      take(brokenSnapshot(`${file} cannot be read`, null))
    },
  })
  async function changed(text: string | null, { rule, before, check }: PolicyChange): Promise<string> {
    const policy = await read(text)
    requireWhole(policy, 'the file cannot be changed while it is invalid')
    before(policy)
    const next = await policyText.addRule(text ?? '', rule)
    const then = await read(next)
    requireWhole(then, 'the change was not written')
    check(then)
    return next
  }
  return {
    snapshot: () => current,
    edit: async (change) => {
      await deps.editor.edit(deps.path, (text) => changed(text, change))
      await refresh()
    },
    tryEdit: async (change) => {
      await deps.editor.edit(deps.path, async (text) => {
        await changed(text, change)
        return null
      })
      // What follows, such as an approved action, is decided by the file that was tried.
      await refresh()
    },
    tryText,
    refresh,
    close,
  }
}

function requireWhole({ broken }: PolicySnapshot, consequence: string): void {
  if (broken !== null) throw new Problem('unprocessable', { detail: `${consequence}: ${broken}` })
}

/** Returns the policy of a text; null for a missing file. Pure. */
export function snapshotOf(text: string | null): PolicySnapshot {
  return finished(snapshotSteps(parsePolicy(text ?? '')))
}

/** Returns the policy of a parsed text; can pause between two rules and two cases. Pure. */
function* snapshotSteps(parsed: ParsedPolicy): StepWork<PolicySnapshot> {
  const reading = yield* readPolicySteps(parsed)
  if (!reading.ok) return brokenSnapshot(`${file} line ${reading.line}: ${reading.reason}`, reading.line)
  const { rules, cases } = reading
  const decide = createDecideEffect(rules)
  yield
  const results = yield* runCases(decide, cases)
  const failed = results.find(({ fault }) => fault !== null)
  if (failed === undefined) return { decide, rules, cases: results, broken: null }
  return { ...brokenSnapshot(`${file} line ${failed.line}: ${failed.fault}`, failed.line), cases: results }
}

function brokenSnapshot(broken: string, line: number | null): PolicySnapshot {
  const decision = {
    verdict: 'deny',
    rule: null,
    line,
    reason: `all effects are denied, because the policy is invalid: ${broken}`,
  } as const
  return { decide: () => decision, rules: [], cases: [], broken }
}
