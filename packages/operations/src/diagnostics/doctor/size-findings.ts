import { ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

const mb = 1024 * 1024

/**
 * Compares the memory that agents with a size of their own, a build of an image and browsers need together with the memory
 * of the machine. Pure.
 */
export function sizeFindings(known: {
  readonly sizes: readonly { readonly agentId: string; readonly memoryMb: number }[]
  /** Containers that may run beside agents. */
  readonly beside: readonly { readonly name: string; readonly memoryMb: number }[]
  /** Memory for agents: the machine's without the reserve for everything else. */
  readonly availableBytes: number
}): readonly DoctorFinding[] {
  const { sizes, beside } = known
  if (sizes.length === 0) return []
  const availableMb = Math.floor(known.availableBytes / mb)
  const sumMb = [...sizes, ...beside].reduce((sum, { memoryMb }) => sum + memoryMb, 0)
  const tooLarge = sizes.filter(({ memoryMb }) => memoryMb > availableMb)
  const named = [...sizes.map(({ agentId, memoryMb }) => ({ name: agentId, memoryMb })), ...beside]
    .map(({ name, memoryMb }) => `${name} ${memoryMb} MB`)
    .join(', ')
  const subject = `agents with a size of their own${beside.length === 0 ? '' : ', and what may run beside them,'}`
  const words = `${subject} need ${sumMb} MB together (${named}); this machine has ${availableMb} MB for agents`
  if (tooLarge.length > 0)
    return [
      warning(
        'agent-sizes',
        `${words}; ${tooLarge.map(({ agentId }) => agentId).join(', ')} can never start`,
        'Reduce their size.memory_mb in config/settings.json.',
      ),
    ]
  if (sumMb > availableMb)
    return [
      warning(
        'agent-sizes',
        `${words}, so they cannot all run at once: their runs wait for each other`,
        'Nothing, if waiting is acceptable. Otherwise reduce size.memory_mb in config/settings.json.',
      ),
    ]
  return [ok('agent-sizes', words)]
}
