import { ok, warning } from './finding.ts'
import type { DoctorFinding } from './finding.ts'

/** Reports how the data of agents is limited, and volumes larger than their lowered limit. Pure. */
export function dataFindings(known: {
  /** Why the limit of agent data is not enforced by a volume; null if it is. */
  readonly meteredBecause: string | null
  readonly limitMb: number
  readonly volumes: readonly {
    readonly agentId: string
    readonly sizeBytes: number
    readonly limitBytes: number
  }[]
}): readonly DoctorFinding[] {
  const { meteredBecause, limitMb } = known
  const bound =
    meteredBecause === null
      ? ok('data-limit', `each agent's /data is a volume of ${limitMb} MB; no agent can write more`)
      : warning(
          'data-limit',
          `the size of each agent's /data is only measured, not enforced: ${meteredBecause}. An agent over ${limitMb} MB is stopped within about a minute and a half, and can fill the disk before that`,
          'Run the mesh as root beside Docker, with e2fsprogs and loop devices; agents created then get volumes.',
        )
  const larger = known.volumes.filter(({ sizeBytes, limitBytes }) => sizeBytes - limitBytes >= 1024 * 1024)
  return [
    bound,
    ...larger.map(({ agentId, sizeBytes, limitBytes }) =>
      warning(
        'data-limit-kept',
        `the volume of ${agentId} has ${inMb(sizeBytes)}, and its limit is now ${inMb(limitBytes)}: the lower limit applies from the next start of the agent, if its data fits`,
        `Free space below its /data, then: flotilla restart ${agentId}`,
      ),
    ),
  ]
}

function inMb(bytes: number): string {
  return `${Math.ceil(bytes / (1024 * 1024))} MB`
}
