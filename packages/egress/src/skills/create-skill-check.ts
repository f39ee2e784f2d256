import { createHash } from 'node:crypto'
import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { CheckSource } from './check-in-thread.ts'
import type { SkillDefinition } from './read-definition.ts'

export type SkillCheck = ReturnType<typeof createSkillCheck>

/**
 * Checks a source for the agent that wants to run it; the audit log records accepted sources by their digest.
 * Problems `denied`, and `skill-rejected` with the first fault as text and all of them in `faults`.
 */
export function createSkillCheck({
  guard,
  journal,
  checkSource,
}: {
  readonly guard: Guard
  readonly journal: Journal
  readonly checkSource: CheckSource
}) {
  return async (
    caller: Extract<Caller, { kind: 'agent' }>,
    { source }: { readonly source: string },
  ): Promise<SkillDefinition & { readonly code: string }> => {
    guard(caller, { do: 'act-for-self', agentId: caller.agentId })
    const verdict = await checkSource(caller.agentId, source)
    if (!verdict.ok) {
      const { faults } = verdict
      const [first] = faults
      const more = faults.length > 1 ? `, and ${faults.length - 1} more` : ''
      throw new Problem('skill-rejected', {
        detail: first ? `line ${first.line}: ${first.message}${more}` : 'it cannot be read',
        extra: { faults },
      })
    }
    const sha256 = createHash('sha256').update(source).digest('hex')
    const { definition, code } = verdict
    journal.append({
      actor: actorOf(caller),
      action: 'skill.checked',
      subject: definition.name,
      detail: { sha256 },
    })
    return { ...definition, code }
  }
}
