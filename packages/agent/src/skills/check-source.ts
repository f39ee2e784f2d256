import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { skillApi, skillEndpoints, skillFaultsSchema } from '@flotilla/protocol/skills-api'
import type { RunMesh } from '../mesh/run-mesh.ts'
import { fingerprint } from '../loop/fingerprint.ts'
import { shelfBounds } from './skill.ts'
import type { Skill } from './skill.ts'
import { skillParameters } from './skill-parameters.ts'

/** Returns the skill of a source, or throws: `skill-rejected` with every error as text, or the mesh's Problem. */
export type CheckSource = (
  source: string,
  context: { readonly mesh: RunMesh; readonly signal: AbortSignal },
) => Promise<Omit<Skill, 'file'>>

/**
 * Asks the mesh about each source once in the lifetime of this process, by its content; nothing on the disk
 * can claim that a source was checked.
 */
export function createCheckSource(): CheckSource {
  const verdicts = new Map<string, Omit<Skill, 'file'> | Problem>()
  return async (source, { mesh, signal }) => {
    const digest = fingerprint(source)
    const known = verdicts.get(digest)
    if (known instanceof Problem) throw known
    if (known) return known
    const keep = <T extends Omit<Skill, 'file'> | Problem>(verdict: T): T => {
      if (verdicts.size >= shelfBounds.verdictsMax) verdicts.clear()
      verdicts.set(digest, verdict)
      return verdict
    }
    try {
      const answer = await mesh.call({ endpoint: skillEndpoints.skillCheck, body: { source }, signal })
      return keep(skillOf(answer))
    } catch (error) {
      if (error instanceof Problem && error.code === 'skill-rejected') throw keep(withFaults(error))
      if (error instanceof Problem && error.code === 'bad-request') throw keep(error)
      throw error
    }
  }
}

function skillOf(answer: unknown): Omit<Skill, 'file'> {
  const { name, description, parameters, code } = skillApi.skillCheck.response.parse(answer)
  const { schema, read } = skillParameters(parameters)
  return { name, description: sanitizeForPrompt(description), parameters: schema, readInput: read, code }
}

/** What a model needs to correct its source: each error with its position. */
function withFaults(problem: Problem): Problem {
  const faults = skillFaultsSchema.safeParse(problem.extra['faults'])
  if (!faults.success) return problem
  const lines = faults.data.map(
    ({ line, column, rule, message }) => `line ${line}, column ${column} (${rule}): ${message}`,
  )
  return new Problem('skill-rejected', {
    detail: `The source of the skill was rejected:\n${lines.join('\n')}\n`,
  })
}
