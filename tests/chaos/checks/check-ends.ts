import type { Finding } from '../facts.ts'
import { lastWords } from '../supervise-mesh.ts'
import type { MeshInstance } from '../supervise-mesh.ts'

/** Problems with which a start may end: a database on a full disk cannot be opened. A supervisor tries again. */
const storageProblems: readonly unknown[] = ['disk-full', 'storage-failing', 'too-many-files']

export interface OwnEnds {
  /** Processes that ended by themselves although they had been ready. */
  readonly ready: readonly MeshInstance[]
  /** Starts that the storage failed. */
  readonly refused: readonly MeshInstance[]
  /** Starts that ended for any other reason. */
  readonly broken: readonly MeshInstance[]
}

/** Sorts the processes that the test did not kill; the last one was asked to end. Pure. */
export function ownEnds(instances: readonly MeshInstance[]): OwnEnds {
  const own = instances.slice(0, -1).filter(({ killed }) => !killed)
  const starts = own.filter(({ readyAt }) => readyAt === null)
  const isRefused = (instance: MeshInstance) => storageProblems.includes(problemOf(instance))
  return {
    ready: own.filter(({ readyAt }) => readyAt !== null),
    refused: starts.filter(isRefused),
    broken: starts.filter((instance) => !isRefused(instance)),
  }
}

/** Code of the problem that ended a process, as it reported it. */
function problemOf({ lines }: MeshInstance): unknown {
  const problem = lines.findLast(({ said }) => 'problem' in said)?.said['problem']
  return typeof problem === 'object' && problem !== null && 'code' in problem ? problem.code : null
}

/** No disturbance of plain processes may end a mesh that was ready, or make a start fail for another reason. */
export function checkEnds(instances: readonly MeshInstance[]): Finding[] {
  const { ready, broken } = ownEnds(instances)
  const found = (check: string, what: string, all: readonly MeshInstance[]): Finding[] =>
    all.map((instance) => ({
      check,
      what: `instance ${instance.number} of the mesh ${what}`,
      evidence: lastWords(instance).split('\n'),
    }))
  return [
    ...found('ended-by-itself', 'ended without being killed', ready),
    ...found('start-failed', 'failed to start, and not for the storage', broken),
  ]
}
