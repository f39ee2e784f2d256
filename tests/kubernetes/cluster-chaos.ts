import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { ClusterHands } from '../chaos/cluster-ground.ts'
import { reportFolder } from '../chaos/keep-home.ts'
import { keepReport } from '../chaos/keep-report.ts'
import { formatCoverage, formatFindings, formatReadyTimes } from '../chaos/report.ts'
import { runChaos } from '../chaos/run-chaos.ts'
import { storageClass } from './cluster/controllers.ts'
import { agentImage } from './cluster/images.ts'
import type { Cluster } from './cluster/start-cluster.ts'
import { giveMeshRights } from './mesh-rights.ts'

const namespace = 'flotilla'
const seedMax = 2 ** 32

/**
 * `npm run test:kubernetes -- --chaos`: the work, the kills and the checks of `npm run chaos`, with agents in pods
 * of this cluster and the mesh on a machine beside it. In addition the cluster is disturbed: a node loses its power
 * and comes back, the network of a node is cut, the API server is halted. `--seed N`, `--runs N` (300) and
 * `--minutes N` (60) mean the same as for `npm run chaos`. Exits with 1 if anything was found.
 */
export async function runClusterChaos(
  cluster: Cluster,
  args: readonly string[],
  tell: (words: string) => void,
): Promise<number> {
  const asked = readArguments(args)
  tell(`seed ${asked.seed}`)
  await giveMeshRights(cluster)
  const startedAt = performance.now()
  const report = await runChaos({
    runtime: 'kubernetes',
    cluster: handsOn(cluster),
    seed: asked.seed,
    runs: asked.runs,
    maxMinutes: asked.minutes,
    progress: (step) => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(5)
      process.stderr.write(`${seconds} s  ${step}\n`)
    },
  })
  tell([formatCoverage(report), formatReadyTimes(report.instances), '', formatFindings(report)].join('\n'))
  tell(`\nThe report is kept: ${await keepReport(reportFolder, report)}`)
  return report.findings.length > 0 ? 1 : 0
}

function handsOn({ api, nodes, volumes, meshKubeconfig, haltControl }: Cluster): ClusterHands {
  return {
    namespace,
    environment: {
      KUBECONFIG: meshKubeconfig,
      FLOTILLA_KUBERNETES_IMAGE: agentImage,
      FLOTILLA_KUBERNETES_STORAGE_CLASS: storageClass,
    },
    get: (path) => api.get(path),
    volumeFolder: (name) => join(volumes, name),
    nodes,
    haltControl,
  }
}

function readArguments(args: readonly string[]) {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: { chaos: { type: 'boolean' }, seed: text, runs: text, minutes: text },
  })
  const whole = (given: string | undefined, otherwise: number): number => {
    const value = given === undefined ? otherwise : Number(given)
    if (Number.isInteger(value) && value > 0 && value < seedMax) return value
    throw new Error(`a whole number is wanted, not ${given}`)
  }
  return {
    seed: whole(values.seed, randomInt(1, seedMax)),
    runs: whole(values.runs, 300),
    minutes: whole(values.minutes, 60),
  }
}
