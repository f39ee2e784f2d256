import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { silentLog } from '../../packages/foundation/src/platform/log.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'
import { createKubernetesRuntime } from '../../packages/fleet/src/sandbox/kubernetes/kubernetes-runtime.ts'
import { aSpec } from '../../packages/fleet/src/sandbox/sandbox-runtime.conformance.ts'
import { hollowClass } from './cluster/controllers.ts'
import { agentImage } from './cluster/images.ts'
import { fabric } from './cluster/layout.ts'
import { hollowHome, namespace } from './scale-names.ts'

/**
 * The mesh's Kubernetes runtime for many pods, in a process of its own so that its memory and time can be measured.
 * Commands are lines on stdin: `prepare`, `start FROM TO`, `idle SECONDS`; each is answered with one line of JSON.
 */
const runtime = createKubernetesRuntime({
  homeId: hollowHome,
  namespace,
  kubeconfig: process.env['KUBECONFIG'],
  image: agentImage,
  seccomp: { kind: 'localhost', path: 'flotilla.json' },
  storageClass: hollowClass,
  meshAddress: fabric.address,
  meshPorts: [8420, 8421],
  clock: systemClock,
  log: silentLog,
})
/** Starts that wait at the same time; a mesh itself queues up to 2,000 and refuses more. */
const waitingAtOnce = 1_000
const briefingDirectory = await mkdtemp(join(tmpdir(), 'flotilla-briefing-'))
await chmod(briefingDirectory, 0o755)

async function follow(words: readonly string[]): Promise<object> {
  const [command = '', ...numbers] = words
  const [first = 0, last = 0] = numbers.map(Number)
  switch (command) {
    case 'prepare':
      await runtime.prepare({ progress: () => undefined })
      return { known: (await runtime.list()).length }
    case 'start': {
      const ids = Array.from({ length: last - first }, (_, index) => `agent-${first + index}`)
      const next = ids.values()
      const failed: string[] = []
      async function startOneAfterTheOther(): Promise<void> {
        for (const agentId of next) {
          await runtime
            .start(aSpec({ agentId, briefingDirectory }))
            .catch((reason: unknown) => failed.push(String(reason)))
        }
      }
      await Promise.all(Array.from({ length: waitingAtOnce }, startOneAfterTheOther))
      return { started: ids.length - failed.length, failed: failed.slice(0, 3) }
    }
    case 'idle':
      await delay(first * 1_000)
      return { known: (await runtime.list()).length }
    default:
      throw new Error(`there is no ${command}`)
  }
}

async function megabytes(): Promise<number> {
  globalThis.gc?.()
  const rollup = await readFile('/proc/self/smaps_rollup', 'utf8')
  return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0) / 1_024
}

process.stdout.write('{}\n')
for await (const line of createInterface({ input: process.stdin })) {
  const [startedAt, cpuBefore] = [performance.now(), process.cpuUsage()]
  const said = await follow(line.split(' ')).catch((error: unknown) => ({ error: String(error) }))
  const seconds = (performance.now() - startedAt) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  const told = { ...said, seconds, cpuSeconds: (user + system) / 1e6, megabytes: await megabytes() }
  process.stdout.write(`${JSON.stringify(told)}\n`)
}
await runtime.close()
await rm(briefingDirectory, { recursive: true })
