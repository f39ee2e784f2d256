import * as z from 'zod'
import { sandboxHardening } from '../sandbox-spec.ts'
import type { WallReport } from '../wall-report.ts'

/** The output of the probe inside a sandbox; see `images/agent/probe-walls.cjs`. */
export const probeReportSchema = z.strictObject({
  attempts: z.array(z.strictObject({ group: z.string(), target: z.string(), outcome: z.string() })),
  status: z.record(z.string(), z.string()),
  writeRoot: z.string(),
  writeEtc: z.string(),
  writeOwned: z.string(),
  makeMessageQueue: z.string(),
  execInTmp: z.string(),
  userNamespace: z.string(),
  networkNamespace: z.string(),
  mount: z.string(),
  processes: z.strictObject({ started: z.number(), said: z.string() }),
  openFilesMax: z.string(),
  engineSocket: z.string(),
  addresses: z.array(z.string()),
})

export type ProbeReport = z.infer<typeof probeReportSchema>

/** Groups of targets that the probe must fail to reach, and the wall that each group proves. */
const closedGroups = {
  host: { id: 'host-ports-closed', what: "the host's other ports" },
  sibling: { id: 'other-sandboxes-closed', what: 'another sandbox' },
  internet: { id: 'internet-closed', what: 'the internet and the local network' },
  metadata: { id: 'metadata-closed', what: 'metadata addresses' },
} as const

/** On the browsers' network the probe must also fail to reach agents and the mesh's listeners for agents. */
const closedToBrowsers = {
  ...closedGroups,
  agents: { id: 'agents-closed', what: 'agents and the listeners of the mesh' },
} as const

/** A target that the probe tries to reach. */
export interface ProbeTarget {
  readonly group: ProbeGroup
  readonly host: string
  readonly port: number
}

/** Targets outside of this machine; if the walls hold, no packet to them leaves the machine of the probe. */
export const outsideTargets: readonly ProbeTarget[] = [
  { group: 'internet', host: '1.1.1.1', port: 443 },
  { group: 'internet', host: '8.8.8.8', port: 53 },
  { group: 'metadata', host: '169.254.169.254', port: 80 },
]

/** The network on which the probe ran. */
type WalledOff = 'agents' | 'browsers'

const meshFindings = {
  agents: { id: 'agent-door-open', what: 'agent API' },
  browsers: { id: 'browser-proxy-open', what: 'proxy of browsers' },
} as const

export type ProbeGroup = keyof typeof closedToBrowsers | 'mesh'

/**
 * Outcomes that show that a name lookup did not leave the host. NXDOMAIN would show the opposite: an outside server
 * resolved the query, and an agent could send data in the name itself.
 */
const unanswered: readonly string[] = ['ETIMEOUT', 'ECONNREFUSED', 'ESERVFAIL', 'EREFUSED']

/** Test targets that the host itself reached, without which a probe's failed attempt would prove nothing. */
export interface Controls {
  /** Targets of the groups `host`, `sibling` or `agents` that the host itself reached. */
  readonly reachedFromHost: readonly string[]
  /** True if a layer in between refuses connections itself: then a refusal does not prove that packets arrived. */
  readonly isRefusedBetween?: boolean
}

/** The kernel that processes see: the machine's own, or gVisor's, which reports fewer fields. */
export type KernelInside = 'shared' | 'gvisor'

/** Judges which network walls hold. A missing attempt never counts as a wall that holds. Pure. */
export function networkWalls(
  report: ProbeReport,
  controls: Controls,
  whose: WalledOff,
): readonly WallReport[] {
  const of = (group: string) => report.attempts.filter((attempt) => attempt.group === group)
  const attemptsText = (group: string) =>
    of(group)
      .map((attempt) => `${attempt.target} ${attempt.outcome}`)
      .join(', ') || 'the probe tested nothing'
  const mesh = of('mesh')
  return [
    {
      id: meshFindings[whose].id,
      holds: mesh.length > 0 && mesh.every((attempt) => attempt.outcome === 'connected'),
      detail: `${meshFindings[whose].what}: ${attemptsText('mesh')}`,
    },
    ...Object.entries(whose === 'agents' ? closedGroups : closedToBrowsers).map(([group, { id, what }]) => {
      const attempts = of(group)
      const needsControl = ['host', 'sibling', 'agents'].includes(group)
      const shown =
        !needsControl || attempts.some((attempt) => controls.reachedFromHost.includes(attempt.target))
      return {
        id,
        holds: attempts.length > 0 && shown && attempts.every((attempt) => isClosed(attempt, controls)),
        detail: `${what}: ${attemptsText(group)}${shown ? '' : ' (but the host could not reach it either, so this proves nothing)'}`,
      }
    }),
    {
      id: 'names-closed',
      holds: of('names').length > 0 && of('names').every((attempt) => unanswered.includes(attempt.outcome)),
      detail: `name look-up: ${attemptsText('names')}`,
    },
    {
      id: 'ipv6-closed',
      holds: report.addresses.every((address) => !address.includes(':') || address === '::1'),
      detail: `addresses inside: ${report.addresses.join(', ')}`,
    },
  ]
}

/** Judges the walls of the probe's own container: files, rights and limits. Pure. */
export function containerWalls(report: ProbeReport, kernel: KernelInside): readonly WallReport[] {
  const { status } = report
  // Older releases of gVisor have no ambient capabilities and do not report them.
  const unreported = kernel === 'gvisor' && status['CapAmb'] === undefined ? ['CapAmb'] : []
  const capabilities = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].filter(
    (name) => !unreported.includes(name) && !/^0+$/.test(status[name] ?? ''),
  )
  return [
    refused(
      'root-read-only',
      // The kernel may report either error; both prove that the root file system is read-only.
      [report.writeRoot, report.writeEtc].every((outcome) => ['EROFS', 'EACCES'].includes(outcome)) &&
        report.writeOwned === 'EROFS',
      `write to / ${report.writeRoot}, to /etc ${report.writeEtc}, to a folder of its own ${report.writeOwned}`,
    ),
    refused(
      'message-queues-closed',
      ['EROFS', 'EACCES', 'ENOENT'].includes(report.makeMessageQueue),
      `make a message queue: ${report.makeMessageQueue}`,
    ),
    refused('tmp-not-executable', report.execInTmp === 'EACCES', `run a file from /tmp: ${report.execInTmp}`),
    refused(
      'processes-bounded',
      // If the probe timed out or failed for another reason, that proves nothing about the limit.
      report.processes.started > 0 && report.processes.started < 300 && /fork/i.test(report.processes.said),
      `started ${report.processes.started} of 300 processes${report.processes.said ? `, then: ${report.processes.said}` : ''}`,
    ),
    refused(
      'no-new-namespaces',
      report.userNamespace !== 'done' && report.networkNamespace !== 'done' && report.mount !== 'done',
      `user namespace: ${report.userNamespace}; network namespace: ${report.networkNamespace}; mount: ${report.mount}`,
    ),
    refused(
      'no-privileges',
      capabilities.length === 0 && isFiltered(status, kernel) && status['Uid'] === '1000',
      `user ${status['Uid']}, capabilities ${capabilities.join(' ') || 'none'}, no-new-privileges ${status['NoNewPrivs']}, system call filter ${status['Seccomp']}`,
    ),
    refused(
      'engine-socket-absent',
      report.engineSocket === 'none',
      `engine sockets inside: ${report.engineSocket}`,
    ),
  ]
}

/** Judges the limit of open files, for runtimes that do not set it, as in a cluster. A node may allow fewer. Pure. */
export function openFilesWall({ openFilesMax }: Pick<ProbeReport, 'openFilesMax'>): WallReport {
  const holds = /^[1-9]\d*$/.test(openFilesMax) && Number(openFilesMax) <= sandboxHardening.openFilesMax
  return refused('open-files-bounded', holds, `open files of a program, at most: ${openFilesMax}`)
}

/** Returns whether filter and no-new-privileges apply. gVisor never adds privileges; old releases omit the field. */
function isFiltered(status: ProbeReport['status'], kernel: KernelInside): boolean {
  const { NoNewPrivs: noNewPrivileges, Seccomp: filter } = status
  const isUnprivileged = noNewPrivileges === '1' || (kernel === 'gvisor' && noNewPrivileges === undefined)
  return isUnprivileged && filter === '2'
}

function refused(id: string, holds: boolean, detail: string): WallReport {
  return { id, holds, detail }
}

/** Returns whether a target was unreachable. A refusal by the target itself (ECONNREFUSED) proves it was reached. */
function isClosed({ target, outcome }: ProbeReport['attempts'][number], controls: Controls): boolean {
  if (outcome === 'ECONNREFUSED')
    return controls.isRefusedBetween === true && controls.reachedFromHost.includes(target)
  return ['timeout', 'EHOSTUNREACH', 'ENETUNREACH', 'EACCES', 'EPERM', 'ETIMEDOUT', 'EADDRNOTAVAIL'].includes(
    outcome,
  )
}
